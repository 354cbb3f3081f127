#!/bin/sh
# One image, five roles: web, worker, runner, migrate, and manage <command> for everything else.
set -eu

role="${1:-web}"
if [ "$#" -gt 0 ]; then
    shift
fi

# A container has no database of its own.
if [ -z "${HOLAMEM_DATABASE_URL:-}" ]; then
    echo "HOLAMEM_DATABASE_URL must name a PostgreSQL server with pgvector." >&2
    exit 64
fi

case "$role" in
    web)
        export HOLAMEM_PROCESS=web
        exec python -m uvicorn holamem.asgi:application --host 0.0.0.0 \
            --port "${HOLAMEM_PORT:-8000}" --no-access-log --timeout-graceful-shutdown 10 "$@"
        ;;
    worker)
        export HOLAMEM_PROCESS=worker
        exec python manage.py qcluster "$@"
        ;;
    runner)
        export HOLAMEM_PROCESS=runner
        exec python manage.py runner "$@"
        ;;
    migrate)
        exec python manage.py migrate --noinput "$@"
        ;;
    manage)
        exec python manage.py "$@"
        ;;
    *)
        echo "Unknown role '$role'; use web, worker, runner, migrate or manage." >&2
        exit 64
        ;;
esac
