package kernels

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/everdesk/everdesk/wire"
)

// Bounds of a list of variables.
const (
	maxVariables     = 50
	maxVariableBytes = 250
)

// Variables asks a kernel with a journal for its newest variables. Values are short, and no code of the user runs for
// them. The error is [ErrNoJournal] for other kernels.
func (c *Conn) Variables(ctx context.Context) ([]wire.KernelVariable, error) {
	m, err := c.askJournal(ctx, "everdesk_variables_request", struct{}{})
	if err != nil {
		return nil, err
	}
	var reply struct {
		Status    string                `json:"status"`
		Variables []wire.KernelVariable `json:"variables"`
	}
	if err := json.Unmarshal(m.Content, &reply); err != nil {
		return nil, fmt.Errorf("%w: variables: %w", ErrUnavailable, err)
	}
	if reply.Status != "ok" {
		return nil, ErrNoJournal
	}
	all := reply.Variables[max(0, len(reply.Variables)-maxVariables):] // code can change what the kernel answers
	for i := range all {
		for _, s := range []*string{&all[i].Name, &all[i].Type, &all[i].Value} {
			*s = strings.ToValidUTF8(bounded(*s, maxVariableBytes), "\uFFFD")
		}
	}
	return all, nil
}
