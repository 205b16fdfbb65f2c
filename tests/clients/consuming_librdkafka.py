"""Members of groups, of librdkafka, as a program. Argument: the address. `consuming.py` describes the lines."""

from __future__ import annotations

import json
import sys
import threading
from typing import Any

import confluent_kafka as ck

_SAYING = threading.Lock()


def say(name: str, what: str, detail: Any) -> None:
    with _SAYING:
        sys.stdout.write(json.dumps([name, what, detail]) + "\n")
        sys.stdout.flush()


class Member(threading.Thread):
    def __init__(self, name: str, settings: dict[str, Any], wanted: list[str] | str) -> None:
        super().__init__(name=name, daemon=True)
        self._consumer = ck.Consumer(settings)
        self._wanted = [wanted] if isinstance(wanted, str) else wanted
        self.is_over = False

    def run(self) -> None:
        listener = {f"on_{verb}": self._reports(what) for verb, what in _CALLED.items()}
        self._consumer.subscribe(self._wanted, **listener)
        while not self.is_over:
            self._read(self._consumer.consume(100, 0.1))
        self._consumer.close()
        say(self.name, "closed", [])

    def _reports(self, what: str) -> Any:
        return lambda _, partitions: say(self.name, what, [[tp.topic, tp.partition] for tp in partitions])

    def _read(self, messages: list[Any]) -> None:
        for each in messages:
            if each.error():
                say(self.name, "failed", each.error().str())
            else:
                say(self.name, "read", [each.topic(), each.partition(), each.offset(), each.value().decode()])
        if messages:
            try:
                self._consumer.commit(asynchronous=False)
            except ck.KafkaException as error:  # the next commit says more
                say(self.name, "uncommitted", error.args[0].str())


_CALLED = {"assign": "assigned", "revoke": "revoked", "lost": "lost"}


def main(bootstrap: str) -> None:
    members: dict[str, Member] = {}
    for line in sys.stdin:
        verb, name, *more = json.loads(line)
        if verb == "close":
            members[name].is_over = True
            continue
        settings, wanted = more
        members[name] = Member(name, {"bootstrap.servers": bootstrap, "log_level": 0, **settings}, wanted)
        members[name].start()


if __name__ == "__main__":
    main(sys.argv[1])
