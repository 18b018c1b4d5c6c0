package tools

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/everdesk/everdesk/apps"
	"github.com/everdesk/everdesk/apps/build"
	"github.com/everdesk/everdesk/providers"
)

type deployInput struct {
	Sandbox          string                 `json:"sandbox" wire:"min=1,max=20"`
	AppID            string                 `json:"appId" jsonschema:"Lower-case letters, digits and dashes." wire:"min=1,max=64"`
	Name             string                 `json:"name,omitempty" jsonschema:"What people read below the icon." wire:"max=100"`
	Description      string                 `json:"description,omitempty" wire:"max=500"`
	Icon             string                 `json:"icon,omitempty" jsonschema:"An emoji, or a picture in the sandbox, such as icon.svg." wire:"max=255"`
	Hidden           *bool                  `json:"hidden,omitempty" jsonschema:"Without an icon on the desktop."`
	KeepSource       *bool                  `json:"keepSource,omitempty" jsonschema:"Keep the source, so that it can be changed later; true when absent."`
	Skill            string                 `json:"skill,omitempty" jsonschema:"What agents should know to use the app: its state, commands and files." wire:"max=100000"`
	AppProtocol      *bool                  `json:"appProtocol,omitempty" jsonschema:"Whether it registers state and commands; found out when absent."`
	Version          string                 `json:"version,omitempty" wire:"max=100"`
	Author           string                 `json:"author,omitempty" wire:"max=100"`
	FileAssociations []fileAssociationInput `json:"fileAssociations,omitempty"`
	look
	Frameless   *bool           `json:"frameless,omitempty"`
	WindowStyle json.RawMessage `json:"windowStyle,omitempty" jsonschema:"Styles of the window, as in the action window.create."`
}

// refine limits the style to an object.
func (deployInput) refine(s *jsonschema.Schema) { s.Properties["windowStyle"].Type = "object" }

type fileAssociationInput struct {
	Extensions []string `json:"extensions"`
	Command    string   `json:"command"`
	ParamKey   string   `json:"paramKey"`
}

func deployApp(ctx context.Context, u *use, in deployInput) providers.ToolResult {
	return u.run(ctx, func(ctx context.Context) (providers.ToolResult, error) {
		if err := apps.CheckID(in.AppID); err != nil {
			return providers.ToolResult{}, err
		}
		all, err := appCall{u}.source(ctx, in.Sandbox)
		if err != nil {
			return providers.ToolResult{}, err
		}
		m, err := appCall{u}.manifest(ctx, in, all)
		if err != nil {
			return providers.ToolResult{}, err
		}
		page, wrong, err := appCall{u}.compile(ctx, build.Source{Files: all, Title: m.Name})
		if wrong != nil || err != nil {
			return compileErrors(wrong), err
		}
		m.AppProtocol = strings.Contains(string(page), "yaar.app.register")
		if in.AppProtocol != nil {
			m.AppProtocol = *in.AppProtocol
		}
		b, err := in.bundle(all, m, page)
		if err == nil {
			err = u.cfg.Apps.Store.Deploy(ctx, u.User, in.AppID, b)
		}
		if err != nil {
			return providers.ToolResult{}, appCall{u}.appError(in.AppID, err)
		}
		appCall{u}.refreshApps(ctx)
		return text(deployed(in.AppID, m.Hidden)), nil
	})
}

// manifest returns the manifest of an app to deploy: the fields of the call, and for the others
// those of the sandbox's app.json or of the present version.
func (u appCall) manifest(ctx context.Context, in deployInput, all map[string][]byte) (apps.Manifest, error) {
	var m apps.Manifest
	if data, ok := all[apps.ManifestFile]; ok {
		var err error
		if m, err = apps.ParseManifest(data); err != nil {
			return m, err
		}
	} else if old, err := u.cfg.Apps.Store.Get(ctx, u.User, in.AppID); err == nil {
		if m = old.Manifest; all[m.IconFile()] == nil && m.IconFile() != "" {
			all[m.IconFile()] = old.Files[m.IconFile()]
		}
	}
	m.Name = cmp.Or(in.Name, m.Name, title(in.AppID))
	m.Description = cmp.Or(in.Description, m.Description)
	m.Icon = cmp.Or(in.Icon, m.Icon)
	m.Version, m.Author = cmp.Or(in.Version, m.Version), cmp.Or(in.Author, m.Author)
	m.Variant, m.DockEdge = cmp.Or(string(in.Variant), m.Variant), cmp.Or(string(in.DockEdge), m.DockEdge)
	for field, value := range map[*bool]*bool{&m.Hidden: in.Hidden, &m.Frameless: in.Frameless} {
		if value != nil {
			*field = *value
		}
	}
	if len(in.FileAssociations) > 0 {
		m.FileAssociations = nil
		for _, a := range in.FileAssociations {
			m.FileAssociations = append(m.FileAssociations, apps.FileAssociation(a))
		}
	}
	if len(in.WindowStyle) > 0 {
		if err := json.Unmarshal(in.WindowStyle, &m.WindowStyle); err != nil {
			return m, fmt.Errorf("windowStyle: %w", err)
		}
	}
	return m, m.Check()
}

// bundle returns the app to deploy.
func (in deployInput) bundle(all map[string][]byte, m apps.Manifest, page []byte) (apps.Bundle, error) {
	kept := maps.Clone(all)
	if in.KeepSource != nil && !*in.KeepSource {
		maps.DeleteFunc(kept, func(name string, _ []byte) bool { return name != apps.SkillFile && name != m.IconFile() })
	}
	data, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return apps.Bundle{}, fmt.Errorf("write the manifest: %w", err)
	}
	kept[apps.ManifestFile], kept[apps.PageFile] = data, page
	if in.Skill != "" {
		kept[apps.SkillFile] = []byte(in.Skill)
	}
	b, err := apps.NewBundle(kept)
	if errors.Is(err, apps.ErrTooLarge) {
		err = fmt.Errorf("%w; deploy it with keepSource false, or make the source smaller", err)
	}
	return b, err
}
