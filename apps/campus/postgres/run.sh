#!/bin/sh
# Starts PostgreSQL with a new cluster on a port of loopback: run.sh PROGRAMS FOLDER PORT
# CAMPUS_POSTGRES, if set, is where other programs of PostgreSQL are, such as /usr/lib/postgresql/15/bin.
set -e
programs=${CAMPUS_POSTGRES:-$1}
folder=$2
port=$3

if ! [ -x "$programs/initdb" ] || ! [ -x "$programs/postgres" ]; then
    echo "$programs holds no initdb and postgres; CAMPUS_POSTGRES is a folder that does" >&2
    exit 1
fi
printf campus > "$folder/password"

# PostgreSQL refuses to run as root. In a user namespace of its own it is nobody, and still has its files.
as=
if [ "$(id -u)" = 0 ]; then as="unshare --user"; fi
if ! $as true 2> /dev/null; then
    as="setpriv --reuid=nobody --regid=$(id -g nobody) --clear-groups"
    if ! $as true; then
        echo "PostgreSQL refuses to run as root, and this root may neither make a user namespace nor become nobody;" \
            "run rpcgauge as another user" >&2
        exit 1
    fi
    # Nobody may not look into root's cache.
    if ! $as test -x "$programs/postgres"; then
        cp -R "$programs/.." "$folder/postgres"
        programs=$folder/postgres/bin
    fi
    chown -R nobody "$folder"
    cd "$folder"
fi

$as "$programs/initdb" --pgdata="$folder/cluster" --username=campus --pwfile="$folder/password" --auth=scram-sha-256 \
    --encoding=UTF8 --locale=C --no-sync --no-instructions >&2

# Each set of services has 20 connections.
exec $as "$programs/postgres" -D "$folder/cluster" -p "$port" -c listen_addresses=127.0.0.1 \
    -c unix_socket_directories= -c max_connections=200 -c shared_buffers=128MB
