#!/bin/sh
# Runs once, in an empty database of the postgres image: the extension, and a login for servers and workers that can
# neither change the schema nor rewrite history. The migrations grant its role what it may do.
set -eu
psql --set=ON_ERROR_STOP=1 --set=password="$MEMHUB_APP_PASSWORD" --username="$POSTGRES_USER" --dbname="$POSTGRES_DB" <<'SQL'
CREATE EXTENSION IF NOT EXISTS vector;
CREATE ROLE memhub_server NOLOGIN;
CREATE ROLE memhub_app LOGIN PASSWORD :'password';
GRANT memhub_server TO memhub_app;
SQL
