"""Pure decisions: functions of an event and the state, seen through `kedge.controller.model.view`."""
