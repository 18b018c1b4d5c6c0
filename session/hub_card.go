package session

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// Bounds of a card.
const (
	maxTitle  = 200
	maxUser   = 256 // bytes, the store's bound for names
	maxShares = 100
	maxOrders = 32 // newest order ids that are kept
	maxFormer = 16
)

// card is the part of a session that the directory stores and listings show.
type card struct {
	Title string `json:"title,omitempty"`
	// Name is the id that the client chose for the session. It does not change.
	Name   wire.SessionID   `json:"name,omitempty"`
	Shares map[string]Share `json:"shares,omitempty"`
	// Former are the newest users to whom the session belonged before, the last one last.
	Former []string `json:"former,omitempty"`
	// Changes counts how often the session was given to another user. Earlier versions did not count.
	Changes int `json:"changes,omitempty"`
	// Orders are the ids of the newest orders that were executed or refused. A hub that sent an
	// order to a remote owner finds the result here.
	Orders []string `json:"orders,omitempty"`
	// Refused are the refused ones among Orders, with the reason.
	Refused map[string]refusedOrder `json:"refused,omitempty"`
	// Notes are remarks on the executed ones among Orders.
	Notes map[string]string `json:"notes,omitempty"`
	// Importing says that the session is being imported from a file: no listing shows it, and it is
	// deleted when the importing replica is gone.
	Importing bool `json:"importing,omitempty"`
}

// refusedOrder is the refusal of an order.
type refusedOrder struct {
	Code   wire.Code `json:"code"`
	Reason string    `json:"reason"`
}

func readCard(data []byte) (card, error) {
	var c card
	if len(data) == 0 {
		return c, nil
	}
	if err := json.Unmarshal(data, &c); err != nil {
		return card{}, fmt.Errorf("read card: %w", err)
	}
	return c, nil
}

func (c card) encode() []byte {
	data, err := json.Marshal(c)
	if err != nil {
		panic(err) // strings and maps of strings always have a JSON form
	}
	return data
}

// apply returns the card after an order. It does not change c, which listings may still use.
func (c card) apply(o *order) (card, *Error) {
	if o.ID != "" {
		c.Orders = append(slices.Clone(c.Orders[max(len(c.Orders)+1-maxOrders, 0):]), o.ID)
	}
	switch o.Kind {
	case orderRename:
		c.Title = o.Title
	case orderShare:
		c.Shares = maps.Clone(c.Shares)
		if o.Share == "" {
			delete(c.Shares, o.User)
			break
		}
		if c.Shares == nil {
			c.Shares = map[string]Share{}
		}
		c.Shares[o.User] = o.Share
		if len(c.Shares) > maxShares {
			return c, refusal(wire.CodeSessionInvalidState, "a session is shared with at most %d people", maxShares)
		}
	}
	return c, nil
}

// withUser returns the card of a session that was given to another user: the one before stays an operator.
// A name belongs to the user who gave it, so it goes.
func (c card) withUser(user, was string) card {
	c.Name, c.Shares = "", maps.Clone(c.Shares)
	delete(c.Shares, user)
	if c.Shares == nil {
		c.Shares = map[string]Share{}
	}
	c.Shares[was] = ShareOperator
	c.Changes = c.changes() + 1
	c.Former = append(slices.Clone(c.Former[max(len(c.Former)+1-maxFormer, 0):]), was)
	return c
}

// changes returns how often the session was given to another user.
func (c card) changes() int { return max(c.Changes, len(c.Former)) }

// withRefusal returns the card with the refusal of an order that is in Orders.
func (c card) withRefusal(o *order, why *Error) card {
	c.Refused = maps.Clone(c.Refused)
	maps.DeleteFunc(c.Refused, func(id string, _ refusedOrder) bool { return !slices.Contains(c.Orders, id) })
	if c.Refused == nil {
		c.Refused = map[string]refusedOrder{}
	}
	c.Refused[o.ID] = refusedOrder{why.Code, why.Reason}
	return c
}

// withNote returns the card with a remark on an order that is in Orders.
func (c card) withNote(o *order, note string) card {
	if note == "" {
		return c
	}
	c.Notes = maps.Clone(c.Notes)
	maps.DeleteFunc(c.Notes, func(id string, _ string) bool { return !slices.Contains(c.Orders, id) })
	if c.Notes == nil {
		c.Notes = map[string]string{}
	}
	c.Notes[o.ID] = note
	return c
}

// refusal returns why an order in Orders was refused, or nil.
func (c card) refusal(o *order) *Error {
	r, ok := c.Refused[o.ID]
	if !ok {
		return nil
	}
	return &Error{Code: r.Code, Reason: r.Reason}
}

// has reports whether an order is among the newest that were executed or refused.
func (c card) has(o *order) bool { return slices.Contains(c.Orders, o.ID) }

// equal reports whether title and shares of two cards are equal.
func (c card) equal(o card) bool { return c.Title == o.Title && maps.Equal(c.Shares, o.Shares) }

func checkTitle(title string) error {
	switch {
	case !utf8.ValidString(title):
		return refusal(wire.CodeInvalidMessage, "the title is not UTF-8")
	case utf8.RuneCountInString(title) > maxTitle:
		return refusal(wire.CodeInvalidMessage, "a title has at most %d characters", maxTitle)
	case strings.ContainsFunc(title, unicode.IsControl):
		return refusal(wire.CodeInvalidMessage, "the title has control characters")
	}
	return nil
}

func checkUser(user string) error {
	if user == "" || len(user) > maxUser || !utf8.ValidString(user) || strings.ContainsFunc(user, unicode.IsControl) {
		return refusal(wire.CodeInvalidMessage, "a user's name has 1 to %d bytes without control characters", maxUser)
	}
	return nil
}

func checkShare(s Share) error {
	switch s {
	case "", ShareViewer, ShareOperator:
		return nil
	}
	return refusal(wire.CodeInvalidMessage, "a share is %s or %s", ShareViewer, ShareOperator)
}

// asInfo converts a directory entry. If the card cannot be decoded, the title is empty.
func asInfo(i store.Info) Info {
	c, _ := readCard(i.Card)
	return Info{
		ID: i.ID, User: i.User, Title: c.Title, Name: c.Name, Shares: c.Shares, Created: i.Created, Updated: i.Updated,
		Working: i.Working, Owner: i.Owner, Top: i.Top, Quarantined: i.Quarantined,
		Epoch: i.Epoch, Until: i.Until, Oldest: i.Oldest, Importing: c.Importing, Former: c.Former, UserChanges: c.changes(),
	}
}

// staleInfo converts a directory entry for use while the store is unavailable. It has no shares,
// because they may have been revoked meanwhile.
func staleInfo(i store.Info) *Info {
	info := asInfo(i)
	info.Shares, info.Stale = nil, true
	return &info
}
