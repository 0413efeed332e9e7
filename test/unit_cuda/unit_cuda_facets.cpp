/*
 * unit_cuda_facets.cpp
 *	  Cases of unit_cuda: objects by keyword, and by cell of a grid.
 */
#include "unit_cuda.h"

void
add_facet_jobs(Batch &batch, Random &random, const TestImage &image, uint32_t n_jobs, uint32_t n_dimensions)
{
	const uint32_t n_keywords = image.image.n_keywords;

	for (uint32_t i = 0; i < n_jobs; i++)
	{
		Job		   &job = add_job(batch, image, i % 2 == 0 ? GENIE_JOB_FACETS : GENIE_JOB_GRID, {});

		job.job.facets.first = random.below(n_keywords);
		job.job.facets.end = job.job.facets.first + random.below(n_keywords - job.job.facets.first + 1);
		if (random.below(2) == 0)
		{
			job.job.first_tile = random.below(image.image.n_tiles);
			job.job.n_tiles = 1 + random.below(image.image.n_tiles - job.job.first_tile);
		}
		if (random.below(2) == 0)
			job.live = make_live(random, image, job.job.first_tile, job.job.n_tiles);
		job.grid.n_axes = 1 + random.below(3);
		job.grid.n_cells = 1;
		for (uint32_t a = 0; a < job.grid.n_axes; a++)
		{
			const uint32_t n_places = 1 + random.below(1u << random.below(8));
			const uint32_t d = n_dimensions == 0 ? 0 : random.below(n_dimensions);
			const uint32_t first = n_dimensions == 0 ? job.job.facets.first : n_keywords / n_dimensions * d;
			const uint32_t n = n_dimensions == 0 ? random.below(3) : n_keywords / n_dimensions;

			job.places.emplace_back(std::min(n, n_keywords - first));
			for (uint32_t &place : job.places.back())
				place = random.below(9) == 0 ? GENIE_GRID_NOWHERE : random.below(n_places) * job.grid.n_cells;
			job.axes.push_back(GenieGridAxis{first, (uint32_t) job.places.back().size(), job.places.back().data()});
			job.grid.n_cells *= n_places;
		}
	}
}

/* Tuples, of which each object lies in a cell; few cells and many, and all objects in one. */
void
facet_cases()
{
	struct Shape
	{
		const char *name;
		uint32_t	n_objects;
		uint32_t	n_dimensions;
		uint32_t	n_values;
		bool		large;
	};
	const std::vector<Shape> shapes = {
		{"facets: two values", 65537, 3, 2, false},
		{"facets: one value", 40000, 2, 1, false},
		{"facets: tuples", 200000, 4, 50, false},
		{"facets: many values", 150000, 2, 20000, false},
		{"facets: 3 million tuples", 3000000, 3, 300, true},
	};

	for (const Shape &shape : shapes)
	{
		const uint32_t n_objects = by_scale(shape.n_objects, shape.n_objects, std::min(shape.n_objects, 70000u));
		Random		random(shape.n_values);
		Batch		batch;

		if ((shape.large && scale != WHOLE) || !is_mine())
			continue;
		arena->reset();
		const auto	image = make_uniform_tuples(n_objects, shape.n_dimensions, shape.n_values);

		if (shape.n_values == 50)
			kill_some(random, *image, 5);
		add_facet_jobs(batch, random, *image, by_scale(40u, 20u, 6u), shape.n_dimensions);
		check(shape.name, std::to_string(n_objects) + " objects", batch);
		cuda->ops->forget(cuda, image->image.id);
	}
}
