package session

import (
	"fmt"

	"github.com/everdesk/everdesk/checkpoints"
)

// markLate records that a tool begins although the checkpoint before it is not saved: the saves that run or wait may have
// changes of that tool.
func (c *checkpointing) markLate() {
	for _, op := range []*checkpointOp{c.saving, c.wanted} {
		if op == nil || op.Late {
			continue
		}
		op.Late = true
		if c.state.Save == op { // stored, so that the next owner adds the row, too
			c.storeState()
		}
	}
}

// warnIfLate adds a row that says which checkpoint may have changes of the tool that it was to precede.
func (c *checkpointing) warnIfLate(made checkpoints.Checkpoint, op *checkpointOp) {
	if !op.Late {
		return
	}
	c.addErrorRow(c.monitorOf(op), fmt.Sprintf(
		"The checkpoint %.7s took longer than %s, and an agent has begun to write meanwhile. It may have some changes of that agent.", made.Hash, c.toolWait))
}
