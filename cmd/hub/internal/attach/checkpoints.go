package attach

import (
	"errors"

	"github.com/everdesk/everdesk/cmd/hub/internal/terminal"
	"github.com/everdesk/everdesk/wire"
)

// checkpoints lists the checkpoints of the conversation, switches them, or restores one.
func (c *console) checkpoints(rest string) (wire.ClientPayload, error) {
	name, hash := firstWord(rest)
	switch {
	case name == "on" || name == "off":
		return wire.SetCheckpoints{Enabled: name == "on", MonitorID: c.monitor}, nil
	case name == "restore" && hash != "":
		return wire.RestoreCheckpoint{Hash: hash, MonitorID: c.monitor}, nil
	case name != "":
		return nil, errors.New("want on, off or restore HASH, or nothing for the list")
	}
	c.listCheckpoints(c.client.State().RecentMessages)
	return nil, nil
}

// listCheckpoints displays the rows that have checkpoints.
func (c *console) listCheckpoints(rows []wire.UIRow) {
	found := false
	for _, r := range rows {
		if r.Say == wire.SayCheckpointSaved {
			found = true
			c.note(tintNone, "%.12s  %s", terminal.OneLine(r.Text), terminal.OneLine(string(r.Checkpoint)))
		}
	}
	if !found {
		c.note(tintNone, "no checkpoints")
	}
}
