package contextpool_test

import (
	"testing"

	"github.com/everdesk/everdesk/profiles"
	"github.com/everdesk/everdesk/wire"
)

// userProviders are the user's default providers, and the ids of providers by their names.
type userProviders struct {
	defaults map[profiles.Role]string
	named    map[string]string
	prefix   bool // requests share their beginning
}

func (c *runner) FindProvider(name string) (string, bool) {
	if id, ok := c.named[name]; ok {
		name = id
	}
	return name, c.HasProvider(name)
}

func (c *runner) DefaultProvider(r profiles.Role) string { return c.defaults[r] }

// newRoleRig returns a rig whose user has a default for some roles.
func newRoleRig(t *testing.T, defaults map[profiles.Role]string) *rig {
	t.Helper()
	r := newRig(t)
	r.runner.defaults, r.runner.named = defaults, map[string]string{"My model": "other"}
	r.runner.has = []string{"demo", "other", "of-main", "of-window", "of-task", "of-plan", "of-summary"}
	r.runner.slots = 1
	return r
}

// providersByRole runs a turn of each role and returns their providers.
func (r *rig) providersByRole() map[profiles.Role]string {
	r.t.Helper()
	got := map[profiles.Role]string{}
	run := r.leader("c1")
	got[profiles.RoleMain] = run.Provider
	var result string
	r.hand(run, "c1", &result)
	task := r.run("task-m1-1")
	got[profiles.RoleTask] = task.Provider
	r.ended(task)
	r.ended(run)
	r.open(first, "w")
	r.toWindow("m2", "w")
	window := r.run("window-w")
	got[profiles.RoleWindow] = window.Provider
	r.ended(window)
	r.step(func() { r.pool.StartJob(todoJob("a")) })
	for _, o := range r.runner.runs {
		if o.Job != "" {
			got[profiles.RolePlan] = o.Provider
			r.ended(o)
		}
	}
	if err := r.condense(); err != nil {
		r.t.Fatalf("condense: %v", err)
	}
	got[profiles.RoleSummary] = r.run(condenser).Provider
	return got
}

// A role has its own default, else that of main agents, else that of the hub. A choice for the session
// counts before them, except for summaries.
func TestProvidersOfRoles(t *testing.T) {
	t.Parallel()
	all := map[profiles.Role]string{"main": "of-main", "window": "of-window", "task": "of-task", "plan": "of-plan", "summary": "of-summary"}
	for name, tt := range map[string]struct {
		defaults map[profiles.Role]string
		chosen   string
		want     map[profiles.Role]string
	}{
		"no defaults":   {nil, "", map[profiles.Role]string{"main": "demo", "window": "demo", "task": "demo", "plan": "demo", "summary": "demo"}},
		"only of main":  {map[profiles.Role]string{"main": "of-main"}, "", map[profiles.Role]string{"main": "of-main", "window": "of-main", "task": "of-main", "plan": "of-main", "summary": "of-main"}},
		"all":           {all, "", all},
		"with a choice": {all, "My model", map[profiles.Role]string{"main": "other", "window": "other", "task": "other", "plan": "other", "summary": "of-summary"}},
		"only a choice": {nil, "My model", map[profiles.Role]string{"main": "other", "window": "other", "task": "other", "plan": "other", "summary": "other"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRoleRig(t, tt.defaults)
			if tt.chosen != "" {
				r.step(func() {
					if !r.pool.SetProvider(tt.chosen) {
						t.Errorf("%s cannot be chosen", tt.chosen)
					}
				})
				wantEqual(t, last[wire.ProviderChanged](r).Provider, "other")
			}
			wantEqual(t, r.providersByRole(), tt.want)
		})
	}
}

// A turn under way keeps its provider when the default changes, also with another owner. The choice of
// a session survives, too.
func TestTurnsKeepTheirProvider(t *testing.T) {
	t.Parallel()
	r := newRoleRig(t, map[profiles.Role]string{"main": "of-main"})
	run := r.direct("m1")
	r.runner.defaults = map[profiles.Role]string{"main": "other"}
	r.crash()
	again := r.run(mainM1)
	wantEqual(t, []string{run.Provider, again.Provider}, []string{"of-main", "of-main"})
	r.ended(again)
	wantEqual(t, r.direct("m2").Provider, "other")
	wantEqual(t, r.Desktop().Provider(), "other")
	r.ended(r.run("main-monitor-0-m2"))
	r.step(func() { r.pool.SetProvider("of-plan") })
	r.crash()
	wantEqual(t, r.direct("m3").Provider, "of-plan")
}
