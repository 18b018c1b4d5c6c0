package session

// mailboxMode is what a mailbox does with an item that is added at this replica.
type mailboxMode uint8

const (
	modeCollect mailboxMode = iota // collects items for the owner here, or for the follower that sends them on
	modeHold                       // holds items back behind the older ones that this replica sent to the inbox
	modeClosed                     // final: refuses items
	mailboxModeCount
)

// mailboxEvent is something that may change the mode.
type mailboxEvent uint8

const (
	mailHold    mailboxEvent = iota // an owner begins while the inbox has older items of this replica
	mailRelease                     // the owner has received those, or ends
	mailClose                       // the live session ends
	mailboxEventCount
)

// mailboxTable has the next mode for each mode and event.
var mailboxTable = [mailboxModeCount][mailboxEventCount]mailboxMode{
	modeCollect: {mailHold: modeHold, mailRelease: modeCollect, mailClose: modeClosed},
	modeHold:    {mailHold: modeHold, mailRelease: modeCollect, mailClose: modeClosed},
	modeClosed:  {mailHold: modeClosed, mailRelease: modeClosed, mailClose: modeClosed},
}

// apply changes the mode by an event.
func (m *mailboxMode) apply(e mailboxEvent) { *m = mailboxTable[*m][e] }
