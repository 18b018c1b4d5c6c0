package contextpool

import "github.com/everdesk/everdesk/wire"

// revision counts how often the conversation of a monitor was rewound.
func (p *Pool) revision(monitor wire.MonitorID) int {
	for _, m := range p.stage.Desk().Monitors() {
		if m.MonitorID == monitor {
			return m.Revision
		}
	}
	return 0
}
