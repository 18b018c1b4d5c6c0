package rooipc

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/everdesk/everdesk/wire"
)

var errNull = errors.New("want a value, not null")

// unmarshalStrict refuses null: an absent value is left out in this protocol.
func unmarshalStrict(data json.RawMessage, v any) error {
	if string(data) == "null" {
		return errNull
	}
	return json.Unmarshal(data, v)
}

// Bounds of the lists of commands.
const (
	maxRules = 500
	maxRule  = 1000
)

// approvalOf returns the auto-approval rules of a configuration, or nil if it has none. They have the
// same names and meanings here. Limits may be null, which means none. It returns the first field that is
// invalid.
func approvalOf(settings map[string]json.RawMessage) (rules *wire.AutoApproval, field string, err error) {
	for _, name := range approvalNames() {
		value, ok := settings[name]
		if !ok || string(value) == "null" && (name == "allowedMaxRequests" || name == "allowedMaxCost") {
			continue
		}
		if string(value) == "null" {
			return nil, name, errNull
		}
		if rules == nil {
			rules = &wire.AutoApproval{}
		}
		one, err := json.Marshal(map[string]json.RawMessage{name: value})
		if err != nil || json.Unmarshal(one, rules) != nil { // the cause names Go types
			return nil, name, errors.New("it has another type than the setting")
		}
	}
	if rules == nil {
		return nil, "", nil
	}
	for name, list := range map[string][]string{"allowedCommands": rules.AllowedCommands, "deniedCommands": rules.DeniedCommands} {
		if len(list) > maxRules || slices.ContainsFunc(list, func(s string) bool { return s == "" || len(s) > maxRule }) {
			return nil, name, errors.New("want at most 500 commands of 1 to 1000 bytes")
		}
	}
	switch {
	case rules.FollowupAutoApproveTimeoutMs < 0 || rules.FollowupAutoApproveTimeoutMs > 86_400_000:
		return nil, "followupAutoApproveTimeoutMs", errors.New("it is out of range")
	case rules.AllowedMaxRequests < 0:
		return nil, "allowedMaxRequests", errors.New("it is out of range")
	case rules.AllowedMaxCost < 0:
		return nil, "allowedMaxCost", errors.New("it is out of range")
	}
	return rules, "", nil
}

// approvalNames returns the names of the settings that are auto-approval rules.
func approvalNames() []string {
	return []string{
		"autoApprovalEnabled", "alwaysAllowReadOnly", "alwaysAllowReadOnlyOutsideWorkspace", "alwaysAllowWrite",
		"alwaysAllowWriteOutsideWorkspace", "alwaysAllowWriteProtected", "alwaysAllowExecute", "allowedCommands", "deniedCommands",
		"alwaysAllowMcp", "alwaysAllowModeSwitch", "alwaysAllowSubtasks", "alwaysAllowFollowupQuestions", "followupAutoApproveTimeoutMs",
		"allowedMaxRequests", "allowedMaxCost",
	}
}
