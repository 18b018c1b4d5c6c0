package history

import "github.com/everdesk/everdesk/providers"

// View is what of a thread goes out to a model. It passes [providers.Check],
// whatever the thread is: neighbours of one side are one message, every call has
// its result right after it, and nothing is empty.
func View(all []Message) []providers.Entry { return mended(all, providers.Mending{}) }

// OpenView is [View] of a thread whose turn goes on: calls of the newest message
// are left without results, for they are still to be made.
func OpenView(all []Message) []providers.Entry { return mended(all, providers.Mending{Open: true}) }

func mended(all []Message, m providers.Mending) []providers.Entry {
	return providers.Mended(entriesOf(Effective(all)), m)
}

func entriesOf(all []Message) []providers.Entry {
	entries := make([]providers.Entry, len(all))
	for i := range all {
		entries[i] = all[i].Entry
	}
	return entries
}
