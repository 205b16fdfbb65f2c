"""Who may come in, and what they may do: as options say it."""

from __future__ import annotations

from controller.cli.printing import one_line
from controller.cli.serve.options import CannotServe, Listening
from controller.wire.listeners import is_every_address, is_loopback
from controller.wire.security.acls import Acls, Authorizer, allow_all
from controller.wire.security.tls import Tls
from controller.wire.security.users import Users


def authorizer_of(options: Listening) -> Authorizer:
    """What each may do: everything, where nothing is said."""
    if options.acls is None:
        return allow_all
    try:
        return Acls.from_file(options.acls)
    except ValueError as error:
        raise CannotServe(f"--acls: {one_line(error)}") from error


def logins_of(options: Listening) -> tuple[Users | None, Tls | None]:
    """What clients have to show; pages never ask for anything. CannotServe where others than this machine may come in,
    and nothing is asked of them."""
    for option, place in (("--status", options.status), ("--metrics", options.metrics), ("--listen", options.listen)):
        has_login = option == "--listen" and (options.users or (options.tls and options.tls[2]))
        if place is not None and not (is_loopback(place.host) or has_login or options.allow_anonymous):
            raise CannotServe(
                f"{option}: {place.host} is beyond this machine, and asks nobody who he is: say "
                "--allow-anonymous if that is meant"
            )
    if options.advertise is None and is_every_address(options.listen.host):
        raise CannotServe(
            f"--listen: {options.listen.host} is every address of this machine: say --advertise HOST, "
            "which clients are to call"
        )
    try:
        users = None if options.users is None else Users.from_file(options.users)
    except ValueError as error:
        raise CannotServe(f"--users: {one_line(error)}") from error
    tls = None if options.tls is None else Tls(*options.tls)
    try:
        if tls is not None:
            tls.context()
    except OSError as error:
        raise CannotServe(f"--tls-certificate: {error.strerror or one_line(error)}") from error
    return users, tls
