"""One worker that takes jobs together: `python -m tests.faults.batch_worker`.

It runs everything that is due, and dies where HOLAMEM_FAULT says.
"""

import django


def main() -> None:
    django.setup()
    from workspaces.services.worker import run_due_jobs

    run_due_jobs()


if __name__ == "__main__":
    main()
