# lib.sh: what test/run, test/demo/demo and test/bench/bench share; they source it (bash), after a cd to the project's root.
#
# Builds happen in copies of the tree below $work, a new folder in $TMPDIR or /tmp that is removed at the end, whatever happens.
# So the clone stays clean, and the user that runs servers need not be able to read it.  PostgreSQL finds an extension only
# where it is installed, so builds are installed.
#
# As root, servers and their clients run as user "postgres", since PostgreSQL refuses to run as root.  Servers listen on a Unix socket below $work only.

export PG_CONFIG=$(test/pg_config)
bindir=$("$PG_CONFIG" --bindir) || { echo "$0: no PostgreSQL here; run test/setup first" >&2; exit 1; }
libdir=$("$PG_CONFIG" --pkglibdir)
for name in MAKEFLAGS MAKELEVEL MFLAGS ${!PG@}; do
	[ "$name" = PG_CONFIG ] || unset "$name"
done
export LC_ALL=C.UTF-8

if [ "$(id -u)" = 0 ]; then
	id postgres >/dev/null 2>&1 || { echo "$0: servers do not run as root, and there is no user \"postgres\"" >&2; exit 1; }
	as_server() { runuser -u postgres -- "$@"; }
	as_root() { "$@"; }
else
	as_server() { "$@"; }
	as_root() { if [ -w "$libdir" ]; then "$@"; else sudo "$@"; fi; }
fi

work=$(mktemp -d "${TMPDIR:-/tmp}/genie.XXXXXX") || exit 1
chmod 755 "$work"
installed=						# the build that is installed: release or assert
finish() {
	local data
	for data in "$work"/data "$work"/*/data; do			# on_server's, too
		[ ! -f "$data/postmaster.pid" ] || as_server "$bindir/pg_ctl" -D "$data" -m immediate -s stop
	done
	[ "$installed" != assert ] || [ ! -f "$work/release/genie.so" ] || install_build release
	cd / && rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT TERM HUP

# The GPU engine has no assertions: the assert build has it only where tests are to count with it (ENGINE=cuda).
flags_of() {
	[ "$1" != assert ] || echo ASSERT=1
	[ "$1" != assert ] && [ -z "${quick:-}" ] || echo with_llvm=no
	[ "$1" != assert ] && [ -z "${quick:-}" ] || [ "${ENGINE:-}" = cuda ] || echo NVCC=
}

copy_tree() {					# copy_tree BUILD
	mkdir -p "$work/$1"
	tar -c --exclude=./.git --exclude='*.o' --exclude='*.bc' --exclude='*.so' --exclude=./build --exclude=./log \
		--exclude=./results . | tar -x --no-same-owner -C "$work/$1"
}

compile() {						# compile BUILD: into $work/BUILD; make's output goes to $work/make-BUILD.log
	copy_tree "$1"
	local goals=all
	[ "$1" != assert ] || goals="all fake-engine"		# the TAP tests want it
	make -C "$work/$1" -j"$(nproc)" $(flags_of "$1") $goals >"$work/make-$1.log" 2>&1
}

install_build() {				# install_build BUILD
	[ "$installed" != "$1" ] || return 0
	if as_root make -s -C "$work/$1" PG_CONFIG="$PG_CONFIG" $(flags_of "$1") install >"$work/install.log" 2>&1; then
		installed=$1
	else
		cat "$work/install.log"
		return 1
	fi
	[ "$(id -u)" != 0 ] || chown -R postgres: "$work/$1"
}

start_server() {				# start_server: with the settings on standard input; then psql works
	mkdir "$work/data" "$work/socket"
	chmod 700 "$work/data" "$work/socket"
	[ "$(id -u)" != 0 ] || chown postgres: "$work/data" "$work/socket"
	as_server "$bindir/initdb" -D "$work/data" --auth=peer --no-locale --encoding=UTF8 --no-sync >"$work/server.log" 2>&1 &&
		{
			cat
			echo "listen_addresses = ''"
			echo "unix_socket_directories = '$work/socket'"
			echo "fsync = off"
			echo "jit = off"
			echo "log_min_messages = error"
		} | as_server tee -a "$work/data/postgresql.conf" >/dev/null &&
		(cd / && as_server "$bindir/pg_ctl" -D "$work/data" -l "$work/data/log" -w -s start) ||
		{ cat "$work/server.log" "$work/data/log" 2>/dev/null; return 1; }
}

psql() {						# as the server's superuser, without a .psqlrc
	(cd / && as_server env PGHOST="$work/socket" PGDATABASE=postgres "$bindir/psql" -X -q -v ON_ERROR_STOP=1 "$@")
}

on_server() {					# on_server NAME start_server, on_server NAME psql ...: with a server of its own below $work/NAME
	local work=$work/$1
	mkdir -p "$work"
	"${@:2}"
}

say_platform() {				# when and where figures were measured; asks the running server
	echo "Date: $(date -u +%Y-%m-%d)"
	echo "Hardware: $(lscpu | sed -n 's/^Model name: *//p' | head -n 1), $(nproc) cores, $(awk '/^MemTotal/ { printf "%.0f GiB", $2 / 1048576 }' /proc/meminfo)"
	psql -At -c "SELECT split_part(version(), ',', 1) || format('; shared_buffers %s, maintenance_work_mem %s, no JIT, all rows cached',
		current_setting('shared_buffers'), current_setting('maintenance_work_mem'))"
}
