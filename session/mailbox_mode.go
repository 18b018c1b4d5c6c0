package session

// mailboxMode is what a mailbox does with an item that is added at this replica.
type mailboxMode uint8

const (
	modeCollect mailboxMode = iota // collects items for the owner here, or for the role to come
	modeDirect                     // lets the caller send its item to the store's inbox, because the owner is elsewhere
	modeHold                       // holds items back behind the older ones that this replica sent to the inbox
	modeClosed                     // final: refuses items
	mailboxModeCount
)

// mailboxEvent is something that may change the mode.
type mailboxEvent uint8

const (
	mailItemAdded    mailboxEvent = iota // an item was added or returned: later ones must not overtake it
	mailAllSent                          // a follower has sent all items to the inbox
	mailFollowerEnds                     // the follower ends: the owner may be here next
	mailHold                             // an owner begins while the inbox has older items of this replica
	mailRelease                          // the owner has received those, or ends
	mailClose                            // the live session ends
	mailboxEventCount
)

// mailboxTable has the next mode for each mode and event.
var mailboxTable = [mailboxModeCount][mailboxEventCount]mailboxMode{
	modeCollect: {
		mailItemAdded: modeCollect, mailAllSent: modeDirect, mailFollowerEnds: modeCollect,
		mailHold: modeHold, mailRelease: modeCollect, mailClose: modeClosed,
	},
	modeDirect: {
		mailItemAdded: modeCollect, mailAllSent: modeDirect, mailFollowerEnds: modeCollect,
		mailHold: modeHold, mailRelease: modeCollect, mailClose: modeClosed,
	},
	modeHold: {
		mailItemAdded: modeHold, mailAllSent: modeHold, mailFollowerEnds: modeHold,
		mailHold: modeHold, mailRelease: modeCollect, mailClose: modeClosed,
	},
	modeClosed: {
		mailItemAdded: modeClosed, mailAllSent: modeClosed, mailFollowerEnds: modeClosed,
		mailHold: modeClosed, mailRelease: modeClosed, mailClose: modeClosed,
	},
}

// mailboxOutput is where a local item goes.
type mailboxOutput uint8

const (
	toItems mailboxOutput = 1 << iota // to the items that the session's goroutine takes
	toHeld                            // to the items that are held back
	toInbox                           // to the store's inbox, by the caller
)

// mailboxOutputs has where each mode puts local items.
var mailboxOutputs = [mailboxModeCount]mailboxOutput{modeCollect: toItems, modeDirect: toInbox, modeHold: toHeld, modeClosed: 0}

// apply changes the mode by an event.
func (m *mailboxMode) apply(e mailboxEvent) { *m = mailboxTable[*m][e] }

// puts reports whether the mode puts local items to one of the given places.
func (m mailboxMode) puts(to mailboxOutput) bool { return mailboxOutputs[m]&to != 0 }
