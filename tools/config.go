package tools

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/settings"
	"github.com/everdesk/everdesk/wire"
)

func configTools() []tool {
	return []tool{
		{
			name: "system:set_config", in: leaders, personal: true, use: guarded(setConfig, askForHook),
			about: "Add a hook (something that happens by itself at launch or when a tool is used), or change the user's settings. " +
				"The user is asked before a hook is added.",
		},
		{
			name: "system:get_config", in: leaders, personal: true, parallel: true, repeatable: true, use: with(getConfig),
			about: "Show the user's hooks, settings and remembered permissions.",
		},
		{
			name: "system:remove_config", in: leaders, personal: true, use: guarded(removeConfig, askToRemove),
			about: "Remove a hook or forget a remembered permission. The user is asked before.",
		},
	}
}

// section is a part of a user's configuration.
type section string

const (
	sectionHooks    section = "hooks"
	sectionSettings section = "settings"
)

type setConfigInput struct {
	Section             section     `json:"section"`
	Event               hookEvent   `json:"event,omitempty" jsonschema:"Of a hook: when it runs."`
	Filter              *hookFilter `json:"filter,omitempty" jsonschema:"Of a hook of tool_use: for which tools; all when absent."`
	Action              *hookAction `json:"action,omitempty" jsonschema:"Of a hook: what it does. Hooks of tool_use can only do os_action."`
	Label               string      `json:"label,omitempty" jsonschema:"Of a hook: what the user sees." wire:"max=200"`
	Language            string      `json:"language,omitempty" jsonschema:"Of settings: a BCP 47 tag, such as en or ko." wire:"max=35"`
	OnboardingCompleted *bool       `json:"onboardingCompleted,omitempty" jsonschema:"Of settings."`
}

func (in setConfigInput) hook() hook {
	h := hook{Event: in.Event, Filter: in.Filter, Label: in.Label, Enabled: true}
	if in.Action != nil {
		h.Action = *in.Action
	}
	h.Label = cmp.Or(h.Label, string(h.Event)+" hook")
	return h
}

// askForHook returns the question to the user before a hook is added. Settings need none.
func askForHook(_ context.Context, u *use, in setConfigInput) (*question, error) {
	if in.Section != sectionHooks {
		return nil, nil //nolint:nilnil // no question, no error
	}
	h := in.hook()
	if err := u.checkHook(h); err != nil {
		return nil, err
	}
	when := "whenever a desktop starts"
	if h.Event == hookToolUse {
		when = "whenever an agent uses a tool"
		if names, err := h.Filter.tools(); err == nil && len(names) > 0 {
			when = fmt.Sprintf("whenever an agent uses %s", names)
		}
	}
	return &question{
		title: "Add a hook?", yes: "Add", topic: "config_hook", context: string(h.Event),
		message: fmt.Sprintf("%q would run %s:\n%s", h.Label, when, visible(canonical(h.Action.Payload))),
	}, nil
}

func setConfig(ctx context.Context, u *use, in setConfigInput) providers.ToolResult {
	return u.run(ctx, func(ctx context.Context) (providers.ToolResult, error) {
		if in.Section == sectionSettings {
			return u.setSettings(ctx, in)
		}
		h := in.hook()
		h.CreatedAt = wire.Millis(time.Now().UnixMilli())
		err := edit(ctx, u.Executor, hookCollection, u.User, func(all *hooks) error {
			if len(all.Hooks) >= maxHooks {
				return fmt.Errorf("there are %d hooks already, at most %d are allowed", len(all.Hooks), maxHooks)
			}
			all.IDCounter++
			h.ID = "hook-" + strconv.Itoa(all.IDCounter)
			all.Hooks = append(all.Hooks, h)
			return nil
		})
		if err != nil {
			return providers.ToolResult{}, err
		}
		return textf("Added %s.", h.ID), nil
	})
}

// setSettings changes the given settings of the user.
func (u *use) setSettings(ctx context.Context, in setConfigInput) (providers.ToolResult, error) {
	if in.Language == "" && in.OnboardingCompleted == nil {
		return providers.ToolResult{}, errors.New("language: either it or onboardingCompleted must be there")
	}
	if in.Language != "" && !isLanguage(in.Language) {
		return providers.ToolResult{}, fmt.Errorf("language: %q is no BCP 47 tag, such as en or pt-BR", in.Language)
	}
	if u.User == "" || u.cfg.Settings == nil { // without a user it would be the settings of all users
		return providers.ToolResult{}, errors.New("the session belongs to no user, so there are no settings to change")
	}
	var changes []settings.Change
	if in.Language != "" {
		changes = append(changes, settings.Change{Name: languageSetting, Value: quoted(in.Language)})
	}
	if in.OnboardingCompleted != nil {
		changes = append(changes, settings.Change{Name: "onboardingCompleted", Value: json.RawMessage(strconv.FormatBool(*in.OnboardingCompleted))})
	}
	out, err := u.cfg.Settings.Change(ctx, settings.Subject{User: u.User}, settings.ByUser, changes)
	if err != nil {
		return providers.ToolResult{}, err
	}
	if len(out.Refused) == 0 {
		return text("Changed the settings."), nil
	}
	var refused []error
	for _, r := range out.Refused {
		changes = slices.DeleteFunc(changes, func(c settings.Change) bool { return c.Name == r.Name })
		refused = append(refused, r)
	}
	if len(changes) > 0 {
		refused = append(refused, fmt.Errorf("%s was changed", changes[0].Name))
	}
	return providers.ToolResult{}, errors.Join(refused...)
}

type getConfigInput struct {
	Section section `json:"section,omitempty" jsonschema:"Only this part."`
}

// configResult is the result of system:get_config.
type configResult struct {
	Hooks       []hook                     `json:"hooks,omitzero"`
	Settings    map[string]json.RawMessage `json:"settings,omitempty"`
	Permissions permissions                `json:"permissions,omitempty"`
}

func getConfig(ctx context.Context, u *use, in getConfigInput) providers.ToolResult {
	return u.run(ctx, func(ctx context.Context) (providers.ToolResult, error) {
		var out configResult
		var errs [3]error
		if in.Section != sectionSettings {
			var h hooks
			h, _, errs[0] = load[hooks](ctx, u.Executor, hookCollection, u.User)
			out.Hooks = append([]hook{}, h.Hooks...)
			out.Permissions, _, errs[1] = load[permissions](ctx, u.Executor, permissionCollection, u.User)
		}
		if in.Section != sectionHooks {
			out.Settings, errs[2] = u.settingsOf(ctx, u.User)
		}
		if err := errors.Join(errs[:]...); err != nil {
			return providers.ToolResult{}, err
		}
		return asJSON(out), nil
	})
}

type removeConfigInput struct {
	HookID     string `json:"hookId,omitempty" jsonschema:"The hook to remove, such as hook-1." wire:"max=100"`
	Permission string `json:"permission,omitempty" jsonschema:"The permission to forget, as system_get_config shows it." wire:"max=200"`
}

func askToRemove(ctx context.Context, u *use, in removeConfigInput) (*question, error) {
	if (in.HookID == "") == (in.Permission == "") {
		return nil, errors.New("hookId: either it or permission must be there")
	}
	if in.HookID != "" {
		all, _, err := load[hooks](ctx, u.Executor, hookCollection, u.User)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(all.Hooks, func(h hook) bool { return h.ID == in.HookID })
		if i < 0 {
			return nil, noHook(in.HookID)
		}
		return &question{
			title: "Remove a hook?", yes: "Remove", topic: "config_hook",
			message: fmt.Sprintf("%q (%s) will not run any more.", all.Hooks[i].Label, in.HookID),
		}, nil
	}
	known, _, err := load[permissions](ctx, u.Executor, permissionCollection, u.User)
	if err != nil {
		return nil, err
	}
	if _, ok := known[in.Permission]; !ok {
		return nil, noDecision(in.Permission)
	}
	return &question{
		title: "Forget a decision?", yes: "Forget", topic: "config_hook",
		message: fmt.Sprintf("You will be asked again about %q.", in.Permission),
	}, nil
}

func noHook(id string) error      { return fmt.Errorf("there is no hook %q", id) }
func noDecision(key string) error { return fmt.Errorf("nothing is remembered for %q", key) }

func removeConfig(ctx context.Context, u *use, in removeConfigInput) providers.ToolResult {
	return u.run(ctx, func(ctx context.Context) (providers.ToolResult, error) {
		var err error
		if in.HookID != "" {
			err = edit(ctx, u.Executor, hookCollection, u.User, func(all *hooks) error {
				before := len(all.Hooks)
				all.Hooks = slices.DeleteFunc(all.Hooks, func(h hook) bool { return h.ID == in.HookID })
				if len(all.Hooks) == before {
					return noHook(in.HookID)
				}
				return nil
			})
		} else {
			err = edit(ctx, u.Executor, permissionCollection, u.User, func(p *permissions) error {
				if _, ok := (*p)[in.Permission]; !ok {
					return noDecision(in.Permission)
				}
				delete(*p, in.Permission)
				return nil
			})
		}
		if err != nil {
			return providers.ToolResult{}, err
		}
		return textf("Removed %s.", cmp.Or(in.HookID, in.Permission)), nil
	})
}
