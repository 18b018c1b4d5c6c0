package monitor

import "github.com/everdesk/everdesk/wire"

// Query selects sessions. The zero Query is the first page of all.
type Query struct {
	User   string
	Status string
	Owner  string
	// Text is looked for in ids and users, and if Titles is set in titles too, which
	// who may not see them could guess that way.
	Text   string
	Titles bool
	// Stuck selects those that are stuck or stalled.
	Stuck bool
	// Questions selects those that wait for a person, Errors those with turns
	// that failed, and Untabbed those that nobody watches.
	Questions bool
	Errors    bool
	Untabbed  bool
	// Sort is updated, which is the default, user, owner, tabs, agents, queued,
	// status, errors, budget or cost.
	Sort       string
	Descending bool
	// Limit is 100 unless set, and 1,000 at the most.
	Limit int
	// After is the Next of the page before.
	After string
}

// Page is a part of the table.
type Page struct {
	Rows []Row `json:"rows"`
	// Total is how many the query selects.
	Total int `json:"total"`
	// Next continues the table; empty at the end.
	Next string `json:"next,omitempty"`
}

// Interest is what somebody looks at, besides the overview.
type Interest struct {
	// Rows says that the table is wanted.
	Rows bool
	// Session, unless empty, is the one whose [Detail] is wanted.
	Session wire.SessionID
}

// Update is what has changed. What is nil has not.
type Update struct {
	Overview *Overview
	Rows     *Rows
	Detail   *Detail
}
