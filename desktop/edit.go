package desktop

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/everdesk/everdesk/wire"
)

// Limits of checklists and boards, which the decoder applies to agents and [State.Edited] to users.
const (
	MaxChecklistItems = 500
	MaxKanbanCards    = 300  // of a column
	MaxItemText       = 1000 // characters of an item or a card
)

// Edited returns the content of a window after the edit of a user, and a sentence about it for agents. It changes
// nothing. Locks do not apply, as for [State.CheckUser].
func (s *State) Edited(monitor wire.MonitorID, e wire.WindowEdit) (set wire.WindowSetContent, about string, why *Refusal) {
	c := newChecker(&s.surface, monitor)
	c.user = true
	k, why := c.findUnlocked(e.WindowID, "")
	if why != nil {
		return set, "", why
	}
	after, about, why := edited(c.on.windows.contentOf(k), e)
	if why == nil {
		why = c.checkContent(k, after)
	}
	return wire.WindowSetContent{WindowID: e.WindowID, Content: after}, about, why
}

// edited returns the content after an edit. The result shares no memory that it changed with the argument.
func edited(before wire.Content, e wire.WindowEdit) (wire.Content, string, *Refusal) {
	switch c := plainContent(before).(type) {
	case wire.MarkdownContent:
		text, about, why := editText(c.Data, e)
		return wire.MarkdownContent{Data: text}, about, why
	case wire.TextContent:
		text, about, why := editText(c.Data, e)
		return wire.TextContent{Data: text}, about, why
	case wire.TableContent:
		about, why := editTable(&c.Data, e)
		return c, about, why
	case wire.ComponentContent:
		about, why := editLayout(&c.Data, e)
		return c, about, why
	}
	return nil, "", refuse(wire.CodeInvalidMessage, "users cannot edit %s", wire.RendererOf(before))
}

func changedMeanwhile(what string) *Refusal {
	return &Refusal{
		Code: wire.CodeSessionInvalidState, ReasonCode: wire.ReasonContentChanged,
		Reason: "the " + what + " has changed in the meantime",
	}
}

func noSuchEdit(e wire.WindowEdit, what string) *Refusal {
	return refuse(wire.CodeInvalidMessage, "op: %q cannot be done in a %s", e.Op, what)
}

func editText(text string, e wire.WindowEdit) (string, string, *Refusal) {
	if e.Op != wire.EditText {
		return "", "", noSuchEdit(e, "text")
	}
	if validUTF8(e.Was) != text {
		return "", "", changedMeanwhile("text")
	}
	return validUTF8(e.Text), "changed the text", nil
}

func editLayout(l *wire.Layout, e wire.WindowEdit) (string, *Refusal) {
	if e.Component < 0 || e.Component >= len(l.Components) {
		return "", changedMeanwhile("list")
	}
	var (
		after wire.Component
		about string
		why   *Refusal
	)
	switch c := plain(l.Components[e.Component]).(type) {
	case wire.ChecklistComponent:
		about, why = editChecklist(&c, e)
		after = c
	case wire.KanbanComponent:
		about, why = editKanban(&c, e)
		after = c
	default:
		return "", changedMeanwhile("list")
	}
	l.Components = slices.Clone(l.Components)
	l.Components[e.Component] = after
	return about, why
}

// itemText returns a new text of an item or a card.
func itemText(e wire.WindowEdit) (string, *Refusal) {
	text := strings.TrimSpace(validUTF8(e.Text))
	if text == "" {
		return "", refuse(wire.CodeInvalidMessage, "text: is empty")
	}
	if n := utf8.RuneCountInString(text); n > MaxItemText {
		return "", refuse(wire.CodeInvalidMessage, "text: %d characters, at most %d", n, MaxItemText)
	}
	return text, nil
}

// locate returns the index of the item with the text was: at if it is there, otherwise the only other place.
func locate[T any](items []T, at int, was string, text func(T) string) (int, bool) {
	if at >= 0 && at < len(items) && text(items[at]) == was {
		return at, true
	}
	found := -1
	for i, item := range items {
		if text(item) == was {
			if found >= 0 {
				return 0, false
			}
			found = i
		}
	}
	return found, found >= 0
}

func itemOf(i wire.ChecklistItem) string { return i.Text }
func cardOf(c wire.KanbanCard) string    { return c.Text }

func editChecklist(c *wire.ChecklistComponent, e wire.WindowEdit) (string, *Refusal) {
	c.Items = slices.Clone(c.Items)
	if e.Op == wire.EditAdd {
		text, why := itemText(e)
		if why != nil {
			return "", why
		}
		if len(c.Items) >= MaxChecklistItems {
			return "", refuseNow("the list has %d items already", MaxChecklistItems)
		}
		c.Items = slices.Insert(c.Items, within(e.Item, len(c.Items)), wire.ChecklistItem{Text: text})
		return "added the item: " + text, nil
	}
	at, ok := locate(c.Items, e.Item, e.Was, itemOf)
	if !ok {
		return "", changedMeanwhile("item")
	}
	item := c.Items[at]
	switch e.Op {
	case wire.EditCheck:
		c.Items[at].Done = e.Done
		if e.Done {
			return "ticked: " + item.Text, nil
		}
		return "unticked: " + item.Text, nil
	case wire.EditRename:
		text, why := itemText(e)
		if why != nil {
			return "", why
		}
		c.Items[at].Text = text
		return fmt.Sprintf("renamed %s to %s", item.Text, text), nil
	case wire.EditRemove:
		c.Items = slices.Delete(c.Items, at, at+1)
		return "removed the item: " + item.Text, nil
	case wire.EditMove:
		c.Items = slices.Delete(c.Items, at, at+1)
		to := within(e.ToItem, len(c.Items))
		c.Items = slices.Insert(c.Items, to, item)
		return fmt.Sprintf("moved to place %d: %s", to+1, item.Text), nil
	}
	return "", noSuchEdit(e, "checklist")
}

func within(i, n int) int { return min(max(i, 0), n) }

func editKanban(c *wire.KanbanComponent, e wire.WindowEdit) (string, *Refusal) {
	c.Columns = slices.Clone(c.Columns)
	for i := range c.Columns {
		c.Columns[i].Cards = slices.Clone(c.Columns[i].Cards)
	}
	if e.Op == wire.EditAdd {
		text, why := itemText(e)
		if why != nil {
			return "", why
		}
		if why := insertCard(c, e.Column, e.Item, wire.KanbanCard{Text: text}); why != nil {
			return "", why
		}
		return fmt.Sprintf("added a card to %s: %s", c.Columns[e.Column].Title, text), nil
	}
	column, at, ok := locateCard(c, e)
	if !ok {
		return "", changedMeanwhile("card")
	}
	from := &c.Columns[column]
	card := from.Cards[at]
	switch e.Op {
	case wire.EditRename:
		text, why := itemText(e)
		if why != nil {
			return "", why
		}
		from.Cards[at].Text = text
		return fmt.Sprintf("renamed the card %s to %s", card.Text, text), nil
	case wire.EditRemove:
		from.Cards = slices.Delete(from.Cards, at, at+1)
		return "removed the card: " + card.Text, nil
	case wire.EditMove:
		from.Cards = slices.Delete(from.Cards, at, at+1)
		if why := insertCard(c, e.ToColumn, e.ToItem, card); why != nil {
			return "", why
		}
		return fmt.Sprintf("moved to %s: %s", c.Columns[e.ToColumn].Title, card.Text), nil
	}
	return "", noSuchEdit(e, "board")
}

// insertCard puts a card into a column.
func insertCard(c *wire.KanbanComponent, column, at int, card wire.KanbanCard) *Refusal {
	if column < 0 || column >= len(c.Columns) {
		return changedMeanwhile("board")
	}
	to := &c.Columns[column]
	if len(to.Cards) >= MaxKanbanCards {
		return refuseNow("the column has %d cards already", MaxKanbanCards)
	}
	to.Cards = slices.Insert(to.Cards, within(at, len(to.Cards)), card)
	return nil
}

// locateCard returns the column and the place of the card of an edit: first in the column that it names, then in the
// only other column that has the card.
func locateCard(c *wire.KanbanComponent, e wire.WindowEdit) (column, at int, ok bool) {
	if e.Column >= 0 && e.Column < len(c.Columns) {
		if at, ok := locate(c.Columns[e.Column].Cards, e.Item, e.Was, cardOf); ok {
			return e.Column, at, true
		}
	}
	column = -1
	for i := range c.Columns {
		there, found := locate(c.Columns[i].Cards, -1, e.Was, cardOf)
		switch {
		case !found:
		case column >= 0:
			return 0, 0, false
		default:
			column, at = i, there
		}
	}
	return column, at, column >= 0
}

// rowText returns the cells of a row as an edit has them.
func rowText(row []string) string { return strings.Join(row, "\t") }

func editTable(t *wire.Table, e wire.WindowEdit) (string, *Refusal) {
	t.Rows = slices.Clone(t.Rows)
	text := validUTF8(e.Text)
	switch e.Op {
	case wire.EditAdd:
		row := strings.Split(text, "\t")
		if len(row) > len(t.Headers) {
			return "", refuse(wire.CodeInvalidMessage, "text: %d cells for %d columns", len(row), len(t.Headers))
		}
		row = append(row, make([]string, len(t.Headers)-len(row))...)
		at := within(e.Item, len(t.Rows))
		t.Rows = slices.Insert(t.Rows, at, row)
		return fmt.Sprintf("added row %d", at+1), nil
	case wire.EditRemove:
		at, ok := locate(t.Rows, e.Item, e.Was, rowText)
		if !ok {
			return "", changedMeanwhile("row")
		}
		t.Rows = slices.Delete(t.Rows, at, at+1)
		return fmt.Sprintf("removed row %d: %s", at+1, strings.ReplaceAll(e.Was, "\t", ", ")), nil
	case wire.EditCell:
		if e.Item < 0 || e.Item >= len(t.Rows) || e.Column < 0 || e.Column >= max(len(t.Headers), len(t.Rows[e.Item])) {
			return "", changedMeanwhile("cell")
		}
		row := slices.Clone(t.Rows[e.Item])
		if missing := e.Column + 1 - len(row); missing > 0 {
			row = append(row, make([]string, missing)...)
		}
		if row[e.Column] != e.Was {
			return "", changedMeanwhile("cell")
		}
		row[e.Column] = text
		t.Rows[e.Item] = row
		return fmt.Sprintf("set %s of row %d from %s to %s", columnName(*t, e.Column), e.Item+1, e.Was, text), nil
	}
	return "", noSuchEdit(e, "table")
}

func columnName(t wire.Table, column int) string {
	if column < len(t.Headers) && t.Headers[column] != "" {
		return t.Headers[column]
	}
	return fmt.Sprintf("column %d", column+1)
}
