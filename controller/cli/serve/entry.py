"""Who may connect to `kedge serve`, and what they may do: logins, certificates and ACLs, from the options."""

from __future__ import annotations

from controller.cli.printing import one_line
from controller.cli.serve.options import CannotServe, Options
from controller.wire.listeners import is_every_address, is_loopback
from controller.wire.security.acls import Acls, Authorizer, allow_all
from controller.wire.security.tls import Tls
from controller.wire.security.users import Users


def authorizer_of(options: Options) -> Authorizer:
    """What each client may do; without --acls everything."""
    if options.acls is None:
        return allow_all
    try:
        return Acls.from_file(options.acls)
    except ValueError as error:
        raise CannotServe(f"--acls: {one_line(error)}") from error


def logins_of(options: Options) -> tuple[Users | None, Tls | None]:
    """The users and the certificate; pages have no login. CannotServe where other machines could connect without a
    login."""
    for option, place in (("--status", options.status), ("--metrics", options.metrics), ("--listen", options.listen)):
        has_login = option == "--listen" and (options.users or (options.tls and options.tls[2]))
        if place is not None and not (is_loopback(place.host) or has_login or options.allow_anonymous):
            raise CannotServe(
                f"{option}: {place.host} lets other machines connect without a login; --allow-anonymous allows it"
            )
    if options.advertise is None and is_every_address(options.listen.host):
        raise CannotServe(
            f"--listen: {options.listen.host} is every address of this machine; add --advertise HOST, the name that "
            "clients connect to"
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
