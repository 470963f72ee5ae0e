# psycopg with a URI as it is.
import sys

import psycopg

with psycopg.connect(sys.argv[1]) as connection:
    print(connection.execute("SELECT current_user").fetchone()[0], connection.pgconn.ssl_in_use)
