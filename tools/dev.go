package tools

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/everdesk/everdesk/apps"
	"github.com/everdesk/everdesk/apps/build"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

func devTools() []tool {
	return []tool{
		{
			name: "dev:read_ts", in: appMakers, personal: true, parallel: true, repeatable: true, use: with(readSource),
			about: "Read a file of a sandbox, or list its files without a path.",
		},
		{
			name: "dev:write_ts", in: appMakers, personal: true, stays: true, repeatable: true, use: with(writeSource),
			about: "Write a file of an app into a sandbox: src/main.ts is what runs, other .ts, .css and .json files can be imported; or write index.html. " +
				"Without sandboxId a new sandbox is made. Read the guide apps before the first app.",
		},
		{
			name: "dev:apply_diff_ts", in: appMakers, personal: true, stays: true, use: with(editSource),
			about: "Replace a text in a file of a sandbox. The old text must be there exactly once.",
		},
		{
			name: "dev:compile", in: appMakers, personal: true, repeatable: true, use: with(compileApp),
			about: "Compile a sandbox into one page, to see what is wrong or to show it before it is deployed.",
		},
		{
			name: "dev:compile_component", in: appMakers, personal: true, stays: true, repeatable: true, use: with(compileComponents),
			about: "Check components and write them as a JSON file into a sandbox, which a script can import.",
		},
		{
			name: "dev:typecheck", in: appMakers, personal: true, parallel: true, repeatable: true, use: with(checkSource),
			about: "Look for errors in the source of a sandbox: of types where the hub has tsc, otherwise of syntax and imports.",
		},
		{
			name: "dev:deploy", in: appMakers, personal: true, repeatable: true, use: with(deployApp),
			about: "Compile a sandbox and make it an app of the user, or the new version of one. It stays, on all their desktops. Its data is kept.",
		},
		{
			name: "dev:clone", in: appMakers, personal: true, use: with(cloneApp),
			about: "Copy the source of an app of the user or of the market into a new sandbox, to change it.",
		},
		{
			name: "dev:write_json", in: appMakers, personal: true, covers: covering(func(_ *use, in writeJSONInput) coverage { return appData(in.AppID) }), repeatable: true, use: with(writeAppJSON),
			about: "Write a JSON file into the folder of an app, such as app.json, which describes it.",
		},
	}
}

type sourceInput struct {
	SandboxID string `json:"sandboxId" wire:"min=1,max=20"`
	Path      string `json:"path,omitempty" jsonschema:"Lists the files when absent." wire:"max=1024"`
}

type writeSourceInput struct {
	Path      string `json:"path" jsonschema:"Such as src/main.ts." wire:"min=1,max=1024"`
	Content   string `json:"content"`
	SandboxID string `json:"sandboxId,omitempty" jsonschema:"A new sandbox when absent." wire:"max=20"`
}

type editSourceInput struct {
	SandboxID string `json:"sandboxId" wire:"min=1,max=20"`
	Path      string `json:"path" wire:"min=1,max=1024"`
	OldString string `json:"old_string" wire:"min=1"`
	NewString string `json:"new_string"`
}

type compileInput struct {
	Sandbox string `json:"sandbox" wire:"min=1,max=20"`
	Entry   string `json:"entry,omitempty" jsonschema:"The file to begin with; src/main.ts or index.html when absent." wire:"max=1024"`
	Title   string `json:"title,omitempty" wire:"max=100"`
}

type componentFileInput struct {
	SandboxID string `json:"sandboxId" wire:"min=1,max=20"`
	Filename  string `json:"filename" jsonschema:"Such as src/form.json." wire:"min=1,max=1024"`
	layoutInput
}

type sandboxInput struct {
	Sandbox string `json:"sandbox" wire:"min=1,max=20"`
}

type writeJSONInput struct {
	AppID    string          `json:"appId" wire:"min=1,max=64"`
	Filename string          `json:"filename" jsonschema:"Ends with .json." wire:"min=1,max=1024"`
	Content  json.RawMessage `json:"content" jsonschema:"A JSON value, or a string of JSON."`
}

func (u appCall) sandboxes() apps.Sandboxes { return u.cfg.Apps.Store.Sandboxes() }

// previewURL returns the address of the page of a sandbox for the content of a window.
func previewURL(sandbox string) string { return "/api/sandbox/" + sandbox + "/" + distPage }

// distPage is the file of a sandbox that dev:compile writes.
const distPage = "dist/" + apps.PageFile

func readSource(ctx context.Context, u *use, in sourceInput) providers.ToolResult {
	return u.run(ctx, func(ctx context.Context) (providers.ToolResult, error) {
		all, err := appCall{u}.sandboxes().Files(ctx, u.User, in.SandboxID)
		if err != nil {
			return providers.ToolResult{}, appCall{u}.appError(in.SandboxID, err)
		}
		names := slices.Sorted(maps.Keys(all))
		if in.Path == "" {
			return asJSON(append([]string{}, names...)), nil
		}
		data, ok := all[in.Path]
		switch {
		case !ok:
			return failf("There is no %q. The files are: %s.", in.Path, strings.Join(names, ", ")), nil
		case !utf8.Valid(data):
			return failf("%q is not text (%d bytes).", in.Path, len(data)), nil
		}
		return outsideFile(sandboxSource(in.SandboxID), text(string(data))), nil
	})
}

// sandboxSource names a sandbox as a source of data: agents write to sandboxes without asking, in every conversation of
// the user.
func sandboxSource(id string) string { return "the sandbox " + truncate(id, 20) }

func writeSource(ctx context.Context, u *use, in writeSourceInput) providers.ToolResult {
	return u.run(ctx, func(ctx context.Context) (providers.ToolResult, error) {
		id := in.SandboxID
		var err error
		if id == "" {
			id, err = appCall{u}.sandboxes().Create(ctx, u.User, map[string][]byte{in.Path: []byte(in.Content)})
		} else {
			err = appCall{u}.sandboxes().Write(ctx, u.User, id, in.Path, []byte(in.Content))
		}
		if err != nil {
			return providers.ToolResult{}, appCall{u}.appError(id, err)
		}
		return textf("Wrote %d bytes to %q of sandbox %s.", len(in.Content), in.Path, id), nil
	})
}

func editSource(ctx context.Context, u *use, in editSourceInput) providers.ToolResult {
	return u.run(ctx, func(ctx context.Context) (providers.ToolResult, error) {
		var wrong error // says what is wrong with the call, unlike errors of the disk
		err := appCall{u}.sandboxes().Edit(ctx, u.User, in.SandboxID, in.Path, func(old []byte, exists bool) ([]byte, error) {
			n := strings.Count(string(old), in.OldString)
			switch {
			case !exists:
				wrong = fmt.Errorf("there is no %q in sandbox %s", in.Path, in.SandboxID)
			case n != 1:
				wrong = fmt.Errorf("old_string: it is there %d times, want once", n)
			}
			return []byte(strings.Replace(string(old), in.OldString, in.NewString, 1)), wrong
		})
		if wrong != nil {
			return providers.ToolResult{}, wrong
		}
		if err != nil {
			return providers.ToolResult{}, appCall{u}.appError(in.SandboxID, err)
		}
		return textf("Changed %q.", in.Path), nil
	})
}

// source returns the source of a sandbox, without what was compiled from it.
func (u appCall) source(ctx context.Context, sandbox string) (map[string][]byte, error) {
	all, err := u.sandboxes().Files(ctx, u.User, sandbox)
	if err != nil {
		return nil, u.appError(sandbox, err)
	}
	delete(all, distPage)
	return all, nil
}

// compile compiles a source. What is wrong with it is the result for the model.
func (u appCall) compile(ctx context.Context, s build.Source) (page []byte, wrong *build.Error, err error) {
	page, err = u.cfg.Apps.Compiler.Compile(ctx, s)
	if e, ok := errors.AsType[*build.Error](err); ok {
		return nil, e, nil
	}
	if err != nil && ctx.Err() == nil {
		u.cfg.Logger.Warn("compiling an app failed", "session", u.Session, "error", err)
		err = build.ErrCompiler
	}
	return page, nil, err
}

func compileApp(ctx context.Context, u *use, in compileInput) providers.ToolResult {
	return u.run(ctx, func(ctx context.Context) (providers.ToolResult, error) {
		all, err := appCall{u}.source(ctx, in.Sandbox)
		if err != nil {
			return providers.ToolResult{}, err
		}
		page, wrong, err := appCall{u}.compile(ctx, build.Source{Files: all, Entry: in.Entry, Title: in.Title})
		if wrong != nil || err != nil {
			return compileErrors(wrong), err
		}
		if err := (appCall{u}).sandboxes().Write(ctx, u.User, in.Sandbox, distPage, page); err != nil {
			return providers.ToolResult{}, appCall{u}.appError(in.Sandbox, err)
		}
		return textf("Compiled: the page has %d bytes. Look at it with window_create, renderer iframe, content %s. Deploy it with dev_deploy.", len(page), previewURL(in.Sandbox)), nil
	})
}

// compileErrors returns the result for a source with errors.
func compileErrors(e *build.Error) providers.ToolResult {
	if e == nil {
		return providers.ToolResult{}
	}
	return fail("The source has errors:\n" + e.Error())
}

func compileComponents(ctx context.Context, u *use, in componentFileInput) providers.ToolResult {
	return u.run(ctx, func(ctx context.Context) (providers.ToolResult, error) {
		if path.Ext(in.Filename) != ".json" {
			return failf("filename: %q, want a name that ends with .json.", in.Filename), nil
		}
		if len(in.Components) == 0 {
			return fail("components: there must be at least one."), nil
		}
		layout := wire.Layout{Components: in.Components, Cols: in.Cols, Gap: in.Gap}
		data := u.forms.layout.Append(nil, &layout)
		if err := (appCall{u}).sandboxes().Write(ctx, u.User, in.SandboxID, in.Filename, data); err != nil {
			return providers.ToolResult{}, appCall{u}.appError(in.SandboxID, err)
		}
		return textf("Wrote %d components to %q of sandbox %s.", len(in.Components), in.Filename, in.SandboxID), nil
	})
}

func checkSource(ctx context.Context, u *use, in sandboxInput) providers.ToolResult {
	return u.run(ctx, func(ctx context.Context) (providers.ToolResult, error) {
		all, err := appCall{u}.source(ctx, in.Sandbox)
		if err != nil {
			return providers.ToolResult{}, err
		}
		report, err := u.cfg.Apps.Compiler.Check(ctx, build.Source{Files: all})
		switch {
		case err != nil:
			u.cfg.Logger.Warn("checking an app failed", "session", u.Session, "error", err)
			return providers.ToolResult{}, errors.New("the source cannot be checked now")
		case len(report.Errors) > 0:
			return fail("The source has errors:\n" + strings.Join(report.Errors, "\n")), nil
		case !report.Types:
			return text("No errors of syntax or imports. Types were not checked: this hub has no tsc."), nil
		}
		return text("No errors."), nil
	})
}

func cloneApp(ctx context.Context, u *use, in appInput) providers.ToolResult {
	return u.run(ctx, func(ctx context.Context) (providers.ToolResult, error) {
		b, err := u.cfg.Apps.Store.Get(ctx, u.User, in.AppID)
		if errors.Is(err, apps.ErrNotFound) {
			b, err = u.cfg.Apps.Market.Get(in.AppID)
		}
		if err != nil {
			return providers.ToolResult{}, appCall{u}.appError(in.AppID, err)
		}
		all := maps.Clone(b.Files)
		if slices.ContainsFunc(build.Entries(), func(name string) bool { return name != apps.PageFile && all[name] != nil }) {
			delete(all, apps.PageFile) // it is made from the source
		}
		id, err := appCall{u}.sandboxes().Create(ctx, u.User, all)
		if err != nil {
			return providers.ToolResult{}, appCall{u}.appError(in.AppID, err)
		}
		return textf("Copied %s to sandbox %s: %s.", in.AppID, id, strings.Join(slices.Sorted(maps.Keys(all)), ", ")), nil
	})
}

func writeAppJSON(ctx context.Context, u *use, in writeJSONInput) providers.ToolResult {
	return u.run(ctx, func(ctx context.Context) (providers.ToolResult, error) {
		content := structured(in.Content)
		if path.Ext(in.Filename) != ".json" || !json.Valid(content) {
			return failf("content: want JSON, for a file that ends with .json; got %q.", truncate(in.Filename, 100)), nil
		}
		b, err := u.cfg.Apps.Store.Get(ctx, u.User, in.AppID)
		if err != nil {
			return providers.ToolResult{}, appCall{u}.appError(in.AppID, err)
		}
		b.Files[in.Filename] = content
		b, err = apps.NewBundle(b.Files)
		if err == nil {
			err = u.cfg.Apps.Store.Deploy(ctx, u.User, in.AppID, b)
		}
		if err != nil {
			return providers.ToolResult{}, appCall{u}.appError(in.AppID, err)
		}
		appCall{u}.refreshApps(ctx)
		return textf("Wrote %q of the app %s.", in.Filename, in.AppID), nil
	})
}

// title returns the name of an app that has none.
func title(id string) string {
	words := strings.Split(id, "-")
	words[0] = strings.ToUpper(words[0][:1]) + words[0][1:]
	return cmp.Or(strings.Join(words, " "), "App")
}
