package adminview

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/everdesk/everdesk/wire"
)

// Query selects sessions. The zero value selects the first page of all.
type Query struct {
	User   string
	Status string
	Owner  string
	// Text is searched in ids and users, and in titles only if Titles is set: an admin who
	// may not see titles could guess them by searching.
	Text   string
	Titles bool
	// Stuck selects sessions that are stuck or stalled.
	Stuck bool
	// Questions selects sessions that wait for the user, Errors those with failed turns,
	// Untabbed those without tabs.
	Questions bool
	Errors    bool
	Untabbed  bool
	// Sort is updated (the default), user, owner, tabs, agents, queued, status, errors,
	// budget or cost.
	Sort       string
	Descending bool
	// Limit is 100 by default and 1,000 at most.
	Limit int
	// After is the Next of the previous page.
	After string
}

// Page is a part of the table.
type Page struct {
	Rows []Row `json:"rows"`
	// Total is the number of rows that the query selects.
	Total int `json:"total"`
	// Next continues the table; empty at the end.
	Next string `json:"next,omitempty"`
}

// Interest is what an admin watches, besides the overview.
type Interest struct {
	// Rows requests the table.
	Rows bool
	// Session, unless empty, requests the [Detail] of a session.
	Session wire.SessionID
}

// Update holds what changed; unchanged parts are nil.
type Update struct {
	// History is part of the first update only.
	History  *History
	Overview *Overview
	Rows     *Rows
	Detail   *Detail
}

// statuses returns all statuses, the most urgent first.
func statuses() []Status {
	return []Status{Quarantined, Stuck, Orphaned, Waiting, Stalled, Working, Idle, Dormant}
}

// sorts returns the sort keys: a number, and a text for equal numbers.
func sorts() map[string]func(*Row) (float64, string) {
	number := func(of func(*Row) float64) func(*Row) (float64, string) {
		return func(r *Row) (float64, string) { return of(r), "" }
	}
	return map[string]func(*Row) (float64, string){
		"updated": number(func(r *Row) float64 { return float64(r.UpdatedAt) }),
		"user":    func(r *Row) (float64, string) { return 0, r.User },
		"owner":   func(r *Row) (float64, string) { return 0, string(r.Owner) },
		"tabs":    number(func(r *Row) float64 { return float64(r.Tabs) }),
		"agents":  number(func(r *Row) float64 { return float64(r.Agents) }),
		"queued":  number(func(r *Row) float64 { return float64(r.Queued) }),
		"status":  number(func(r *Row) float64 { return float64(slices.Index(statuses(), r.Status)) }),
		"errors":  number(func(r *Row) float64 { return float64(r.Errors) }),
		"budget":  number(func(r *Row) float64 { return float64(r.Budget) }),
		"cost":    number(func(r *Row) float64 { return r.Cost }),
	}
}

// cursor is the sort key of the last row of a page.
type cursor struct {
	Sort       string         `json:"s"`
	Descending bool           `json:"d,omitempty"`
	Number     float64        `json:"n"`
	Text       string         `json:"t,omitempty"`
	ID         wire.SessionID `json:"i"`
}

func (q *Query) check() error {
	if q.Sort == "" {
		q.Sort = "updated"
	}
	if sorts()[q.Sort] == nil {
		return fmt.Errorf("%w: unknown sort key %q", ErrQuery, q.Sort)
	}
	if q.Status != "" && !slices.Contains(statuses(), Status(q.Status)) {
		return fmt.Errorf("%w: unknown status %q", ErrQuery, q.Status)
	}
	if q.Limit < 0 {
		return fmt.Errorf("%w: the limit is negative", ErrQuery)
	}
	_, err := q.cursor()
	return err
}

// cursor decodes After; nil if it is empty.
func (q *Query) cursor() (*cursor, error) {
	if q.After == "" {
		return nil, nil //nolint:nilnil // there may be none
	}
	data, err := base64.RawURLEncoding.DecodeString(q.After)
	var c cursor
	if err == nil {
		err = json.Unmarshal(data, &c)
	}
	if err != nil || c.Sort != q.Sort || c.Descending != q.Descending {
		return nil, fmt.Errorf("%w: after is not the next value of a page of the same query", ErrQuery)
	}
	return &c, nil
}

// key returns the sort key of a row.
func (q *Query) key(r *Row) cursor {
	number, text := sorts()[q.Sort](r)
	return cursor{Sort: q.Sort, Descending: q.Descending, Number: number, Text: text, ID: r.SessionID}
}

// limit returns the page size.
func (q *Query) limit() int { return min(cmp.Or(q.Limit, 100), 1000) }

// page selects, sorts and limits rows.
func (q *Query) page(rows []Row) (Page, error) {
	after, err := q.cursor()
	if err != nil {
		return Page{}, err
	}
	compare := func(a, b *cursor) int {
		c := cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.Text, b.Text), cmp.Compare(a.ID, b.ID))
		if q.Descending {
			return -c
		}
		return c
	}
	type found struct {
		row *Row
		key cursor
	}
	var list []found
	total := 0
	match := q.matcher()
	for i := range rows {
		if !match(&rows[i]) {
			continue
		}
		total++
		if k := q.key(&rows[i]); after == nil || compare(&k, after) > 0 {
			list = append(list, found{&rows[i], k})
		}
	}
	slices.SortFunc(list, func(a, b found) int { return compare(&a.key, &b.key) })
	limit := q.limit()
	p := Page{Rows: make([]Row, 0, min(limit, len(list))), Total: total}
	for _, f := range list[:min(limit, len(list))] {
		p.Rows = append(p.Rows, *f.row)
	}
	if len(list) > limit {
		p.Next, err = list[limit-1].key.encode()
	}
	return p, err
}

// encode returns the text of a cursor for [Page.Next].
func (c cursor) encode() (string, error) {
	data, err := json.Marshal(c)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrQuery, err)
	}
	return base64.RawURLEncoding.EncodeToString(data), nil
}

// matcher returns a function that reports whether the query selects a row.
func (q *Query) matcher() func(*Row) bool {
	text := strings.ToLower(q.Text)
	has := func(s string) bool { return strings.Contains(strings.ToLower(s), text) }
	return func(r *Row) bool {
		return (q.User == "" || r.User == q.User) &&
			(q.Status == "" || string(r.Status) == q.Status) &&
			(q.Owner == "" || string(r.Owner) == q.Owner) &&
			(!q.Stuck || r.Status == Stuck || r.Status == Stalled) &&
			(!q.Questions || r.Questions > 0) &&
			(!q.Errors || r.Errors > 0) &&
			(!q.Untabbed || r.Tabs == 0) &&
			(text == "" || has(string(r.SessionID)) || has(r.User) || q.Titles && has(r.Title))
	}
}
