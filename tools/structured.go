package tools

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/everdesk/everdesk/wire"
)

// structured returns the text of a JSON string, because models may write an object as a string of
// JSON. Other values are returned unchanged.
func structured(data json.RawMessage) json.RawMessage {
	var text string
	if json.Unmarshal(data, &text) == nil {
		return json.RawMessage(text)
	}
	return data
}

// within adds the path of a field to an error about its value. want describes the expected value
// for errors that name no field inside it.
func within(field, want string, err error) error {
	e, ok := errors.AsType[*wire.Error](err)
	if !ok || e.Path == "" {
		return fmt.Errorf("%s: %s: %w", field, want, fieldError(err))
	}
	return fmt.Errorf("%s.%w", field, fieldError(err))
}

// table decodes the table in a field and checks that each row has one cell per header.
func (u windowCall) table(field string, data json.RawMessage) (wire.Table, error) {
	t, err := u.forms.table.Decode(structured(data))
	if err != nil {
		return t, within(field, "a table is an object with headers and rows", err)
	}
	if err := t.CheckRows(); err != nil {
		return t, fmt.Errorf("%s.%w", field, err)
	}
	return t, nil
}

// structured adapts an operation to the content of its window: the replacement of a table or
// components may be a string of JSON.
func (u windowCall) structured(c wire.Content, op wire.UpdateOperation) (wire.UpdateOperation, error) {
	replace, ok := op.(wire.UpdateReplace)
	if !ok {
		return op, nil
	}
	switch c.(type) {
	case wire.TableContent:
		if _, err := u.table("content", replace.Data); err != nil {
			return op, err
		}
	case wire.ComponentContent, wire.ChartContent:
	default:
		return op, nil
	}
	replace.Data = structured(replace.Data)
	return replace, nil
}
