-- Roles, rights and the extension for a login role that is no superuser.
-- compose.yml runs it by itself. On another server run it once, as an administrator, in the
-- database of holamem; it may be run again:
--   LOGIN_PASSWORD=... psql "$ADMIN_URL" -v ON_ERROR_STOP=1 -f docker/roles.sql

\getenv login_password LOGIN_PASSWORD

SELECT format('CREATE ROLE %I NOLOGIN', name)
  FROM unnest(ARRAY['holamem_owner', 'holamem_app', 'holamem_system', 'holamem_eraser']) AS name
 WHERE name NOT IN (SELECT rolname FROM pg_roles)
\gexec

SELECT 'CREATE ROLE holamem LOGIN'
 WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'holamem')
\gexec

-- The password goes over the wire as it is, so use TLS or a local socket.
ALTER ROLE holamem PASSWORD :'login_password';

-- The login role owns nothing and sees nothing until it takes one of these roles.
GRANT holamem_owner, holamem_app, holamem_system, holamem_eraser TO holamem
  WITH INHERIT FALSE, SET TRUE;
GRANT USAGE, CREATE ON SCHEMA public TO holamem_owner;

CREATE EXTENSION IF NOT EXISTS vector;

-- Keeps text search on its index under row-level security. Only a superuser may say it; without
-- it everything works, slower.
SELECT 'ALTER FUNCTION ts_match_vq(tsvector, tsquery) LEAKPROOF'
  FROM pg_roles WHERE rolname = current_user AND rolsuper
\gexec
