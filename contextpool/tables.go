package contextpool

// Names of tables and fields in the store. Parts of a turn or a message that do not change, or
// change one by one, have tables of their own.
const (
	aboutTable  = "pool"
	aboutField  = "about"
	turnTable   = "turns"
	promptTable = "turns.prompt"
	queueTable  = "queue"
	saidTable   = "queue.said"
	groupTable  = "groups"
	groupField  = "pairs"
	reloadTable = "reload"
	reloadNext  = "next"
	askTable    = "asks"

	// Prefixes of per-turn tables: clearing one table deletes all calls or actions of a turn.
	callPrefix   = "turns.calls:"
	actionPrefix = "turns.deeds:"
)
