#!/bin/sh
# Starts PostgreSQL with a new cluster on a port of loopback: run.sh PROGRAMS FOLDER PORT
# CAMPUS_POSTGRES, if set, is where other programs of PostgreSQL are, such as /usr/lib/postgresql/15/bin.
set -e
programs=${CAMPUS_POSTGRES:-$1}
folder=$2
port=$3

# PostgreSQL refuses to run as root. In a user namespace of its own it is nobody, and still has its files.
as=
if [ "$(id -u)" = 0 ]; then as="unshare --user"; fi

printf campus > "$folder/password"
$as "$programs/initdb" --pgdata="$folder/cluster" --username=campus --pwfile="$folder/password" --auth=scram-sha-256 \
    --encoding=UTF8 --locale=C --no-sync --no-instructions >&2

# Each set of services has 20 connections.
exec $as "$programs/postgres" -D "$folder/cluster" -p "$port" -c listen_addresses=127.0.0.1 \
    -c unix_socket_directories= -c max_connections=200 -c shared_buffers=128MB
