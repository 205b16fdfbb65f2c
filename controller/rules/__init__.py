"""Pure decisions: functions of the state, seen through `controller.model.view`, and an event."""
