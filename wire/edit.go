package wire

// WindowEdit is a change that a user makes in the content of a window: in a checklist, a board, a table or a text. Only
// EMIT takes it, as its only action. The hub applies it to the content of that moment and logs the result as
// `window.setContent`, so two users can change different items at the same time. It rejects the edit with the reason
// code `content_changed` if the item is not what `was` says.
type WindowEdit struct {
	WindowID WindowID `json:"windowId"`
	Op       EditOp   `json:"op"`
	// Component is the index of the checklist or board in its layout.
	Component int `json:"component,omitempty" wire:"min=0"`
	// Column is the index of the column of a board or table.
	Column int `json:"column,omitempty" wire:"min=0"`
	// Item is the index of the item, the card in its column, or the row. For add it is the place of the new one;
	// absent is the first place, and one behind the end is the last.
	Item int `json:"item,omitempty" wire:"min=0"`
	// Was is the text of the item, card or cell before the edit, for a row its cells with tabs between them, for op
	// text the whole text. An item or card that has moved since is found by it. Not used by add.
	Was string `json:"was,omitempty"`
	// Text is the new text. For a new row it is its cells with tabs between them.
	Text string `json:"text,omitempty"`
	// Done is the state of an item after op check.
	Done bool `json:"done,omitempty"`
	// ToColumn and ToItem are the place after a move, counted without the moved card or item.
	ToColumn int `json:"toColumn,omitempty" wire:"min=0"`
	ToItem   int `json:"toItem,omitempty" wire:"min=0"`
	ActionMeta
}

// EditOp is the kind of a user's edit.
type EditOp string

// The kinds of edits.
const (
	EditCheck  EditOp = "check"  // tick or untick an item of a checklist
	EditAdd    EditOp = "add"    // add an item, a card or a row
	EditRename EditOp = "rename" // change the text of an item or a card
	EditRemove EditOp = "remove" // remove an item, a card or a row
	EditMove   EditOp = "move"   // move an item or a card
	EditCell   EditOp = "cell"   // change the text of a cell
	EditText   EditOp = "text"   // change the text of a Markdown or text window
)

func (EditOp) values() []string {
	return list(EditCheck, EditAdd, EditRename, EditRemove, EditMove, EditCell, EditText)
}
