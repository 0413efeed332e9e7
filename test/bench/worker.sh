# worker.sh: common parts of bench_worker and bench_vector: a server with a background worker as large as the machine, its engine, many
# processes, and the evaluation of pgbench's logs; to be sourced after test/lib.sh.

cores=$(nproc)
loaders=${LOADERS:-$cores}		# processes that generate and copy rows

worker_settings() {				# worker_settings: of a server; images get SHARED_MEMORY, builds MAINTENANCE_MEMORY
	local memory
	memory=$(awk '/^MemTotal/ { print int($2 / 1048576) }' /proc/meminfo)
	cat <<CONF
shared_preload_libraries = 'genie'
genie.shared_memory = ${SHARED_MEMORY:-$((memory >= 64 ? 12 : 2))GB}
shared_buffers = $((memory >= 64 ? 16 : memory >= 16 ? 4 : 1))GB
maintenance_work_mem = ${MAINTENANCE_MEMORY:-1GB}
max_parallel_maintenance_workers = $cores
max_worker_processes = $((cores + 8))
max_parallel_workers = $cores
work_mem = 64MB
max_wal_size = 16GB
wal_level = minimal
max_wal_senders = 0
max_connections = 200
autovacuum = off
CONF
}

wait_for() {					# wait_for SECONDS SQL: until it is true
	for _ in $(seq $((10 * $1))); do
		[ "$(psql -At -c "$2")" != t ] || return 0
		sleep 0.1
	done
	return 1
}

count_with() {					# count_with ENGINE: the worker does, from now on; false if there is none; auto: whichever is faster, where there is a GPU
	psql -c "ALTER SYSTEM SET genie.engine = $1" -c "SELECT pg_reload_conf()" >/dev/null
	wait_for 20 "SELECT engine = '${1/auto/cuda}' FROM genie_stat"
}

# COMMAND ... FIRST N of all parts of N things from FIRST on at once, by as many processes as there are cores.
by_parts() {					# by_parts FIRST N COMMAND ...
	local part end=$(($1 + $2)) each=$((($2 + loaders - 1) / loaders)) pids=()
	for ((part = $1; part < end; part += each)); do
		"${@:3}" "$part" "$((each < end - part ? each : end - part))" &
		pids+=($!)
	done
	for part in "${pids[@]}"; do
		wait "$part" || return 1
	done
}

warm() {						# warm TABLE ...: into shared buffers, which the loading of large tables and VACUUM go around
	local table
	psql -c 'SET client_min_messages = warning' -c 'CREATE EXTENSION IF NOT EXISTS pg_prewarm' || return 1
	for table in "$@"; do
		psql -o /dev/null -c "SELECT pg_prewarm('$table')" || return 1
	done
}

timed() {						# timed COMMAND ...: seconds that it took, in $took
	local started
	started=$(date +%s.%N)
	"$@" >/dev/null || exit 1
	took=$(awk "BEGIN { printf \"%.1f\", $(date +%s.%N) - $started }")
}

logged_ms() {					# logged_ms PERCENT ...: percentiles of what pgbench -l --log-prefix=log wrote to $work/bench
	cat "$work"/bench/log.* | awk '{ print $3 }' | sort -n | awk -v percents="$*" '{ t[NR] = $1 / 1000 }
		END { n = split(percents, p, " "); for (i = 1; i <= n; i++) printf "%.2f%s", t[int((NR * p[i] + 99) / 100)], i < n ? " " : "\n" }'
}
