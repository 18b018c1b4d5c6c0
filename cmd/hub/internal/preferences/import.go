package preferences

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/everdesk/everdesk/client"
	"github.com/everdesk/everdesk/cmd/hub/internal/remote"
	"github.com/everdesk/everdesk/cmd/hub/internal/terminal"
	"github.com/everdesk/everdesk/profiles"
	"github.com/everdesk/everdesk/settings"
	"github.com/everdesk/everdesk/settingsfile"
	"github.com/everdesk/everdesk/wire"
)

// limited bounds what is read of a settings file. One byte more than allowed shows that it is too large.
func limited(r io.Reader) io.Reader { return io.LimitReader(r, settingsfile.MaxBytes+1) }

// importer sets what a file asks for, item by item.
type importer struct {
	*call
	dryRun  bool
	session wire.SessionID
	values  values // the settings of the hub before the import
	// profiles are the ids of the profiles that the user has or gets; refused of those that were refused.
	profiles, refused map[string]bool
	notes             []settingsfile.Note
}

// errNothingTaken means that a file had no value that could be set.
var errNothingTaken = errors.New("nothing was taken from the file")

// importSettings sets what a file asks for and reports about every key.
func (c *call) importSettings(ctx context.Context, name string) error {
	data, err := c.readFile(name)
	if err != nil {
		return fmt.Errorf("import settings: %w", err)
	}
	im := importer{
		call: c, dryRun: c.flags.Has("dry-run"), session: wire.SessionID(c.flags.Last("session")),
		profiles: map[string]bool{}, refused: map[string]bool{},
	}
	if im.values, _, err = c.read(ctx); err != nil {
		return err
	}
	list, err := c.modelProfiles(ctx)
	if err != nil {
		return err
	}
	var backends struct {
		Backends []struct{ Backend string }
	}
	if err := c.hub.Ask(ctx, http.MethodGet, c.target("backends"), nil, &backends); err != nil {
		return fmt.Errorf("list backends: %w", err)
	}
	var have settingsfile.Have
	for _, p := range list.Profiles {
		im.profiles[p.ID] = true
		one := p.Profile
		one.Pinned = p.Pinned
		have.Profiles = append(have.Profiles, one)
	}
	for _, b := range backends.Backends {
		have.Backends = append(have.Backends, b.Backend)
	}
	known, err := c.modes(ctx)
	if err != nil {
		return err
	}
	for _, m := range known.Modes {
		have.Modes = append(have.Modes, m.Mode)
	}
	file, err := settingsfile.Parse(data, have)
	if err != nil {
		return fmt.Errorf("import %s: %w", terminal.OneLine(name), err)
	}
	if err := c.openSecrets(file, name); err != nil {
		return fmt.Errorf("import %s: %w", terminal.OneLine(name), err)
	}
	for _, item := range file.Items {
		if err := im.apply(ctx, item); err != nil {
			return errors.Join(err, im.report()) // the hub cannot be reached; the report says what was done
		}
	}
	im.notes = append(im.notes, file.Notes...)
	if err := im.report(); err != nil {
		return err
	}
	taken := slices.ContainsFunc(im.notes, func(n settingsfile.Note) bool { return n.Outcome == settingsfile.Taken })
	refused := slices.ContainsFunc(im.notes, func(n settingsfile.Note) bool { return n.Outcome == settingsfile.Refused })
	if refused && !taken {
		return errNothingTaken
	}
	return nil
}

// openSecrets adds the encrypted secrets of a file to its items. Without a passphrase they are left out.
func (c *call) openSecrets(file *settingsfile.Import, name string) error {
	if file.Sealed == "" {
		return nil
	}
	from := c.flags.Last("passphrase-file")
	if from == "-" && name == "-" {
		return errors.New("the file and the passphrase cannot both be standard input")
	}
	phrase, err := c.passphrase(from)
	if errors.Is(err, errNoPassphrase) && from == "" {
		file.Notes = append(file.Notes, settingsfile.Note{Key: "secrets.sealed", Outcome: settingsfile.LeftOut, Detail: err.Error()})
		return nil
	}
	if err != nil {
		return err
	}
	all, err := settingsfile.Open(file.Sealed, phrase)
	if err != nil {
		return err
	}
	file.AddSecrets(all)
	return nil
}

// apply sets one item and notes what happened. It returns an error only if the hub did not answer.
func (im *importer) apply(ctx context.Context, item settingsfile.Item) error {
	if item.Kind == settingsfile.KindApproval {
		return im.applyApproval(ctx, item)
	}
	detail := im.refusalOf(item)
	if detail == "" && !im.dryRun {
		var err error
		if detail, err = im.sendPatiently(ctx, item); err != nil {
			return fmt.Errorf("import %s: %w", terminal.OneLine(item.Key), err)
		}
	}
	if item.Kind == settingsfile.KindProfile {
		im.profiles[item.Model.ID], im.refused[item.Model.ID] = detail == "" || im.profiles[item.Model.ID], detail != ""
	}
	outcome := settingsfile.Taken
	switch {
	case detail == noSuchSetting:
		outcome = settingsfile.Unknown
	case detail != "":
		outcome = settingsfile.Refused
	}
	im.addResult(item.Key, outcome, detail)
	return nil
}

func (im *importer) addResult(key string, outcome settingsfile.Outcome, detail string) {
	im.notes = append(im.notes, settingsfile.Note{Key: key, Outcome: outcome, Detail: detail})
}

// noSuchSetting is the detail of settings that the hub does not have.
const noSuchSetting = "the hub has no such setting"

// refusalOf returns why an item cannot be set, as far as that can be said without the hub, or "".
func (im *importer) refusalOf(item settingsfile.Item) string {
	switch item.Kind {
	case settingsfile.KindSetting:
		i := slices.IndexFunc(im.values.Settings, func(s state) bool { return s.Name == item.Name })
		if i < 0 {
			return noSuchSetting
		}
		if im.values.Settings[i].Pinned != "" {
			return "the operator has set it: " + im.values.Settings[i].Pinned
		}
		for _, s := range settings.Catalogue() { // that of the hub may be another one, which has the last word
			if s.Name == item.Name && im.dryRun {
				if _, refusal := s.Check(item.Value); refusal != nil {
					return refusal.Detail
				}
			}
		}
	case settingsfile.KindSecret:
		if im.refused[item.Profile] {
			return "its profile was refused"
		}
	case settingsfile.KindRole:
		switch {
		case !slices.Contains(profiles.Roles(), profiles.Role(item.Name)):
			return "there is no such role"
		case !im.profiles[item.Profile]:
			return "there is no profile with this id"
		}
	}
	return ""
}

// Bounds of waiting for the hub.
const (
	// rateTries bounds the attempts to set an item while the hub limits the rate, ratePause is between them.
	rateTries = 60
	ratePause = time.Second
	// approvalTimeout bounds setting the rules of a session.
	approvalTimeout = 15 * time.Second
)

// sendPatiently sets an item, and tries again while there are too many requests. It returns the reason of a
// refusal, or an error if the hub did not decide.
func (im *importer) sendPatiently(ctx context.Context, item settingsfile.Item) (refusal string, err error) {
	for try := 1; ; try++ {
		err := im.send(ctx, item)
		no, ok := errors.AsType[*remote.RefusedError](err)
		switch {
		case err == nil:
			return "", nil
		case !ok || no.Status >= http.StatusInternalServerError || no.Status == http.StatusUnauthorized:
			return "", err
		case no.Status != http.StatusTooManyRequests || try >= rateTries:
			if no.Field != "" {
				return no.Field + ": " + no.Detail, nil
			}
			return no.Detail, nil
		}
		select {
		case <-time.After(ratePause):
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
}

// send sets an item. A refusal of the hub is a [*remote.RefusedError].
func (im *importer) send(ctx context.Context, item settingsfile.Item) error {
	switch item.Kind {
	case settingsfile.KindSetting:
		var out values
		in := map[string]any{"values": map[string]json.RawMessage{item.Name: item.Value}}
		if err := im.hub.Ask(ctx, http.MethodPatch, im.target("settings", "values"), in, &out); err != nil {
			return err
		}
		if len(out.Refused) > 0 {
			return &remote.RefusedError{Status: http.StatusBadRequest, Detail: out.Refused[0].Detail}
		}
		return nil
	case settingsfile.KindSecret:
		return im.hub.Ask(ctx, http.MethodPut, im.target("secrets", item.Name), map[string]string{"value": item.Secret.Reveal()}, nil)
	case settingsfile.KindProfile:
		m := item.Model
		in := map[string]any{
			"name": m.Name, "backend": m.Backend, "model": m.Model, "baseUrl": m.BaseURL, "secret": m.Secret,
			"contextWindow": m.ContextWindow, "effort": m.Effort,
		}
		if m.Prices != nil {
			in["prices"] = m.Prices
		}
		return im.hub.Ask(ctx, http.MethodPut, im.target("model-profiles", m.ID), in, nil)
	case settingsfile.KindMode:
		m := item.Mode
		in := map[string]any{"name": m.Name, "instructions": m.Instructions, "toolProfile": m.Tools, "model": m.Model}
		if m.Approval != nil {
			in["approval"] = m.Approval
		}
		return im.hub.Ask(ctx, http.MethodPut, im.target("modes", m.ID), in, nil)
	case settingsfile.KindApproval:
		return im.hub.Ask(ctx, http.MethodPut, im.target("auto-approval"), map[string]any{"rules": item.Approval}, nil)
	default:
		return im.hub.Ask(ctx, http.MethodPut, im.target("model-profiles", "roles"), map[string]any{"roles": map[string]string{item.Name: item.Profile}}, nil)
	}
}

// applyApproval sets the auto-approval rules of a session or, if none is named, the default of the user. They
// replace those that were there.
func (im *importer) applyApproval(ctx context.Context, item settingsfile.Item) error {
	outcome, detail := settingsfile.Taken, "for sessions without rules of their own"
	if im.session != "" {
		detail = "for the session " + string(im.session)
	}
	switch {
	case im.dryRun:
	case im.session == "":
		refusal, err := im.sendPatiently(ctx, item)
		if err != nil {
			return fmt.Errorf("import %s: %w", terminal.OneLine(item.Key), err)
		}
		if refusal != "" {
			outcome, detail = settingsfile.Refused, refusal
		}
	default:
		if err := im.sendApproval(ctx, item.Approval); err != nil {
			outcome, detail = settingsfile.Refused, err.Error()
		}
	}
	for _, key := range item.Keys {
		im.addResult(key, outcome, detail)
	}
	return nil
}

// sendApproval sends rules to a session and waits until it has accepted them.
func (im *importer) sendApproval(ctx context.Context, rules wire.AutoApproval) error {
	c, err := client.New(client.Config{URL: im.hub.URL.String(), Session: im.session, Token: im.hub.Token})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, approvalTimeout)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	select {
	case err := <-done:
		return err
	case <-c.Ready():
	}
	_, err = c.Send(ctx, wire.SetAutoApproval{Rules: &rules})
	cancel()
	<-done
	return err
}

// report prints what happened to every key.
func (im *importer) report() error {
	if im.asJSON {
		data, err := json.Marshal(map[string]any{"keys": im.notes, "dryRun": im.dryRun})
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(im.Stdout, "%s\n", data)
		return err
	}
	out := tabwriter.NewWriter(im.Stdout, 0, 0, 2, ' ', 0)
	for _, n := range im.notes {
		fmt.Fprintf(out, "%s\t%s\t%s\n", n.Outcome, terminal.OneLine(n.Key), terminal.OneLine(n.Detail))
	}
	if im.dryRun {
		fmt.Fprintln(out, "Nothing was written.")
	}
	return out.Flush()
}
