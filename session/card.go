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

// Bounds of what a card holds.
const (
	maxTitle  = 200
	maxUser   = 256 // bytes, the store's bound for names
	maxShares = 100
	maxOrders = 32 // so many of the newest are remembered
)

// card is what listings show of a session.
type card struct {
	Title string `json:"title,omitempty"`
	// Name is what the user calls the session in place of its id. It does not change.
	Name   wire.SessionID   `json:"name,omitempty"`
	Shares map[string]Share `json:"shares,omitempty"`
	// Orders are the newest that made the card what it is: who gave one to a
	// distant owner sees here that it was carried out, whatever came after it.
	Orders []string `json:"orders,omitempty"`
	// Refused are those of them that were not carried out, and why.
	Refused map[string]refusedOrder `json:"refused,omitempty"`
	// Notes are what there is to say of those that were.
	Notes map[string]string `json:"notes,omitempty"`
	// Importing says that the session is still being made of a file: it is in no
	// list, and is deleted when the replica that makes it is gone.
	Importing bool `json:"importing,omitempty"`
}

// refusedOrder is what who gave an order is told.
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

// apply returns the card after an order of a hub. The card itself does not
// change, since listings may still show it.
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

// withRefusal returns the card after an order that is in it was refused.
func (c card) withRefusal(o *order, why *Error) card {
	c.Refused = maps.Clone(c.Refused)
	maps.DeleteFunc(c.Refused, func(id string, _ refusedOrder) bool { return !slices.Contains(c.Orders, id) })
	if c.Refused == nil {
		c.Refused = map[string]refusedOrder{}
	}
	c.Refused[o.ID] = refusedOrder{why.Code, why.Reason}
	return c
}

// withNote returns the card after an order that is in it was carried out, and what there
// is to say of that.
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

// refusal is why an order that the card has was not carried out, or nil.
func (c card) refusal(o *order) *Error {
	r, ok := c.Refused[o.ID]
	if !ok {
		return nil
	}
	return &Error{Code: r.Code, Reason: r.Reason}
}

// has reports whether an order was carried out, or refused, not long ago.
func (c card) has(o *order) bool { return slices.Contains(c.Orders, o.ID) }

// equal reports whether two cards say the same of the session.
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

// asInfo reads what the directory says. A card that cannot be read costs its
// title, not the listing.
func asInfo(i store.Info) Info {
	c, _ := readCard(i.Card)
	return Info{
		ID: i.ID, User: i.User, Title: c.Title, Name: c.Name, Shares: c.Shares, Created: i.Created, Updated: i.Updated,
		Working: i.Working, Owner: i.Owner, Top: i.Top, Quarantined: i.Quarantined,
		Epoch: i.Epoch, Until: i.Until, Oldest: i.Oldest, Importing: c.Importing,
	}
}

// staleInfo is asInfo for while the store does not answer. Shares may be taken back
// meanwhile, so that it has none.
func staleInfo(i store.Info) *Info {
	info := asInfo(i)
	info.Shares, info.Stale = nil, true
	return &info
}
