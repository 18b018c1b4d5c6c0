package profiles

// Profile describes a model and how to reach it.
type Profile struct {
	// ID identifies the profile among those of its user and those of the hub.
	ID   string `json:"id"`
	Name string `json:"name"`
	// Backend is the name of a model backend, such as anthropic.
	Backend string `json:"backend"`
	// Model is the name of the model; empty means the default of the backend.
	Model string `json:"model"`
	// BaseURL is the URL of the server; empty means that of the backend.
	BaseURL string `json:"baseUrl"`
	// Secret is the name of the user's secret with the key; empty means the key of the hub, if BaseURL
	// is empty, else none.
	Secret string `json:"secret"`
	// ContextWindow is the size of the context window in tokens; 0 means the known size of the model.
	ContextWindow int `json:"contextWindow"`
	// Effort is the reasoning effort; empty means the default of the model.
	Effort string `json:"effort"`
	// Prices are the prices of the model; nil means the known ones.
	Prices *Prices `json:"prices"`
	// Pinned names the flags of the operator that the profile is made from; empty for one of a user. It
	// is not stored.
	Pinned string `json:"-"`
}

// Prices are prices per million tokens. A nil price is unknown.
type Prices struct {
	Input      *float64 `json:"input"`
	Output     *float64 `json:"output"`
	CacheRead  *float64 `json:"cacheRead"`
	CacheWrite *float64 `json:"cacheWrite"`
	// Currency is [USD].
	Currency string `json:"currency"`
	// AsOf is the date of the prices, as in 2026-11-17; empty if unknown.
	AsOf string `json:"asOf"`
}

// USD is the currency of prices.
const USD = "USD"

// Usage counts tokens of model calls.
type Usage struct{ Input, Output, CacheRead, CacheWrite int }

// Cost returns the price of usage, or false if a price that it needs is unknown.
func (p *Prices) Cost(u Usage) (float64, bool) {
	if p == nil {
		return 0, false
	}
	total := 0.0
	for _, part := range []struct {
		tokens int
		price  *float64
	}{{u.Input, p.Input}, {u.Output, p.Output}, {u.CacheRead, p.CacheRead}, {u.CacheWrite, p.CacheWrite}} {
		if part.tokens <= 0 {
			continue
		}
		if part.price == nil {
			return 0, false
		}
		total += float64(part.tokens) * *part.price
	}
	return total / 1e6, true
}

// Role is what a model is used for.
type Role string

// The roles.
const (
	// RoleMain is the main agent of a monitor, and agents that answer in its place.
	RoleMain Role = "main"
	// RoleWindow is the agent of a window.
	RoleWindow Role = "window"
	// RoleTask is an agent that another agent gave a task.
	RoleTask Role = "task"
	// RolePlan is what a plan runs: planning, todos and the result.
	RolePlan Role = "plan"
	// RoleSummary condenses a conversation.
	RoleSummary Role = "summary"
	// RoleTitle finds the title of a session.
	RoleTitle Role = "title"
)

// Roles returns all roles.
func Roles() []Role {
	return []Role{RoleMain, RoleWindow, RoleTask, RolePlan, RoleSummary, RoleTitle}
}

// Efforts returns the reasoning efforts, from the least.
func Efforts() []string { return []string{"minimal", "low", "medium", "high"} }
