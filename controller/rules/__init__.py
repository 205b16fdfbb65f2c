"""Pure decisions: functions of an event and the state, seen through `controller.model.view`."""
