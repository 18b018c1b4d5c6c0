package history

import "github.com/everdesk/everdesk/providers"

// View returns the messages of a thread to send to a model. They always pass
// [providers.Check]: neighbours of the same role are merged, every call is followed by its
// result, and no message is empty.
func View(all []Message) []providers.Entry { return corrected(all, providers.CorrectOptions{}) }

// OpenView is [View] for a thread whose turn continues: calls of the newest message stay
// without results, because the tools have yet to run.
func OpenView(all []Message) []providers.Entry {
	return corrected(all, providers.CorrectOptions{Open: true})
}

func corrected(all []Message, m providers.CorrectOptions) []providers.Entry {
	return providers.Corrected(entriesOf(Effective(all)), m)
}

func entriesOf(all []Message) []providers.Entry {
	entries := make([]providers.Entry, len(all))
	for i := range all {
		entries[i] = all[i].Entry
	}
	return entries
}
