#include <iostream>
#include <map>
#include <pqxx/pqxx>
#include <string>
#include <vector>

struct Question
{
	std::string name, index, sql;
	std::vector<std::string> parameters;
};

static pqxx::result ask(pqxx::work &work, const std::string &sql, const std::vector<std::string> &parameters)
{
	return parameters.size() == 1 ? work.exec_params(sql, parameters[0]) : work.exec_params(sql, parameters[0], parameters[1]);
}

int main()
{
	pqxx::connection connection;
	pqxx::work work(connection);
	std::map<std::string, std::string> wanted;
	for (auto row : work.exec("SELECT question, ids FROM wanted"))
		wanted[row[0].as<std::string>()] = row[1].as<std::string>();
	const std::string vector = "{0.5,-0.25,0.125,1}";
	const std::vector<Question> questions = {
		{"vector", "docs_embedding", "SELECT id FROM docs ORDER BY embedding <-> $1 LIMIT 3", {vector}},
		{"ints", "docs_ints", "SELECT id FROM docs ORDER BY ints <&> $1 LIMIT 3", {"{3,6,9}"}},
		{"tags", "docs_tags", "SELECT id FROM docs ORDER BY tags <&> $1 LIMIT 3", {"{t5,t7}"}},
		{"words", "docs_words", "SELECT id FROM docs WHERE words @& genie_query($1::text[], $2) ORDER BY id LIMIT 3", {"{w3,w5,w7}", "2"}},
		{"search", "genie_search",
			"SELECT id FROM genie_search('docs_embedding', $1::real[], 3) s JOIN docs ON docs.ctid = s.tid ORDER BY distance", {vector}},
	};
	for (const auto &question : questions)
	{
		std::string plan, ids;
		for (auto row : ask(work, "EXPLAIN " + question.sql, question.parameters))
			plan += row[0].as<std::string>() + "\n";
		for (auto row : ask(work, question.sql, question.parameters))
			ids += (ids.empty() ? "" : ",") + row[0].as<std::string>();
		if (plan.find(question.index) == std::string::npos || (question.name != "search" && plan.find("Seq Scan") != std::string::npos) ||
			ids != wanted[question.name])
		{
			std::cerr << question.name << ": " << ids << ", not " << wanted[question.name] << "\n" << plan;
			return 1;
		}
	}
	return 0;
}
