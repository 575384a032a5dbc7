"""What servers and workers stand on: domain, SQL, pool, outbox, retrieval, migrations."""
