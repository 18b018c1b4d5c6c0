package settingsfile_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/everdesk/everdesk/modes"
	"github.com/everdesk/everdesk/profiles"
	"github.com/everdesk/everdesk/secrets"
	"github.com/everdesk/everdesk/settingsfile"
	"github.com/everdesk/everdesk/wire"
)

func content() settingsfile.Content {
	return settingsfile.Content{
		Settings: map[string]json.RawMessage{"language": json.RawMessage(`"ko"`), "onboardingCompleted": json.RawMessage(`false`)},
		Profiles: []profiles.Profile{{ID: "opus", Name: "My <Opus>", Backend: "anthropic", Secret: "mine", Prices: &profiles.Prices{Input: new(2.0), Currency: profiles.USD}}},
		Roles:    map[profiles.Role]string{profiles.RoleMain: "opus"},
		Modes:    []modes.Mode{{ID: "review", Name: "Review", Tools: modes.ToolsRead, Model: "opus", Approval: &wire.AutoApproval{AlwaysAllowReadOnly: true}}},
		Approval: &wire.AutoApproval{AutoApprovalEnabled: true, AllowedMcpTools: []string{"a/b"}, AlwaysAllowAfterOutsideData: true},
		Secrets:  map[string]secrets.Value{"mine": secrets.NewValue("sk-canary"), "other": secrets.NewValue("x")},
	}
}

// What was exported is imported as it was; secrets only with the passphrase.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	for passphrase, want := range map[string][]string{
		"correct horse": {
			`setting language="ko"`, `setting onboardingCompleted=false`, "profile opus|My <Opus>|anthropic|||mine", "role main=opus", "mode review|Review|read|opus", "approval 3 rules",
			"secret mine=sk-canary", "secret other=x",
		},
		"": {
			`setting language="ko"`, `setting onboardingCompleted=false`, "profile opus|My <Opus>|anthropic|||mine", "role main=opus", "mode review|Review|read|opus", "approval 3 rules",
			"left out secrets.mine", "left out secrets.other",
		},
	} {
		data, err := settingsfile.Encode(content(), settingsfile.Passphrase{Text: passphrase, WorkFactor: 10}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(data), "sk-canary") {
			t.Errorf("the file has a secret in clear text:\n%s", data)
		}
		im, err := settingsfile.Parse(data, settingsfile.Have{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(content().Profiles[0], im.Items[2].Model); diff != "" {
			t.Errorf("profile (-want +got):\n%s", diff)
		}
		if passphrase != "" {
			if _, err := settingsfile.Open(im.Sealed, "battery staple"); !errors.Is(err, settingsfile.ErrPassphrase) {
				t.Errorf("with another passphrase the error is %v, want %v", err, settingsfile.ErrPassphrase)
			}
			all, err := settingsfile.Open(im.Sealed, passphrase)
			if err != nil {
				t.Fatal(err)
			}
			im.AddSecrets(all)
		}
		if diff := cmp.Diff(want, summary(im)); diff != "" {
			t.Errorf("import with the passphrase %q (-want +got):\n%s", passphrase, diff)
		}
	}
}

// One bad value of an own file blocks no other.
func TestBadValues(t *testing.T) {
	t.Parallel()
	im, err := settingsfile.Parse([]byte(`{"format":"everdesk-settings","version":1,"later":1,"settings":{"language":"ko","x":{}},
		"modelProfiles":[7,{"id":"UPPER"},{"id":"a","name":"A","backend":"demo"},{"id":"b","name":7}],"roles":{"main":"a","task":7},"secrets":{"names":["k"]},
		"modes":[7,{"id":"A"},{"id":"m","name":"M","toolProfile":"show"}],"autoApproval":{"alwaysAllowWrite":1,"no":1,"allowedMaxRequests":3}}`), settingsfile.Have{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`setting language="ko"`, `setting x={}`, "profile a|A|demo|||", "role main=a", "mode m|M|show|", "approval 1 rules",
		"refused autoApproval.alwaysAllowWrite", "unknown autoApproval.no", "unknown later", "refused modelProfiles[0]",
		"refused modelProfiles[1]", "refused modelProfiles[3]", "refused modes[0]", "refused modes[1]", "refused roles.task", "left out secrets.k",
	}
	if diff := cmp.Diff(want, summary(im)); diff != "" {
		t.Errorf("import (-want +got):\n%s", diff)
	}
	im, err = settingsfile.Parse([]byte(`{"format":"everdesk-settings","version":1,"settings":[],"modelProfiles":{},"roles":7,"modes":{},"autoApproval":[],"secrets":[]}`), settingsfile.Have{})
	if err != nil || len(im.Items) != 0 || len(im.Notes) != 6 {
		t.Errorf("a file with wrong parts is %+v, %v; want six notes", im, err)
	}
}

// Sealed secrets that are damaged or demand too much work are refused.
func TestDamagedSecrets(t *testing.T) {
	t.Parallel()
	const costly = "-----BEGIN AGE ENCRYPTED FILE-----\nYWdlLWVuY3J5cHRpb24ub3JnL3YxCi0+IHNjcnlwdCBBQUFBQUFBQUFBQUFBQUFBQUFBQUFBIDMwCkFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUEKLS0tIEFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUEKAAA=\n-----END AGE ENCRYPTED FILE-----\n"
	for _, sealed := range []string{"", "x", costly} {
		start := time.Now()
		if _, err := settingsfile.Open(sealed, "p"); err == nil {
			t.Errorf("%.40q can be opened", sealed)
		} else if strings.Contains(err.Error(), "sk-") {
			t.Errorf("the error is %v", err)
		}
		if took := time.Since(start); took > 30*time.Second {
			t.Errorf("refusing took %v", took)
		}
	}
}

// Any file is an import or an error: no panic, every profile is valid, and the order of items is that of setting
// them.
func FuzzParse(f *testing.F) {
	data, err := settingsfile.Encode(content(), settingsfile.Passphrase{}, time.Unix(0, 0))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(rooFile(`"currentApiConfigName":"a","apiConfigs":{"a":{"apiProvider":"openai","openAiApiKey":"k","openAiBaseUrl":"http://x","openAiCustomModelInfo":{"inputPrice":1}}}`, `,"globalSettings":{"allowedCommands":["x"],"language":"ko"}`)))
	f.Add([]byte(`{"format":"everdesk-settings","version":1,"modelProfiles":[{}],"secrets":{"sealed":"x"}}`))
	f.Add([]byte(`{"format":"everdesk-settings","version":1,"modes":[{"id":"a","name":"A","toolProfile":"read"}],"autoApproval":{"allowedMaxCost":1}}`))
	f.Add([]byte(rooFile(`"apiConfigs":{"a":{"id":"x","apiProvider":"openai"}},"modeApiConfigs":{"code":"x","r":"y"}`, `,"globalSettings":{"customModes":[{"slug":"R","name":"R","groups":["read",["edit",{"fileRegex":"x"}]]}]}`)))
	f.Fuzz(func(t *testing.T, data []byte) {
		im, err := settingsfile.Parse(data, settingsfile.Have{Backends: []string{"anthropic"}})
		if err != nil {
			if im != nil || !errors.Is(err, settingsfile.ErrFormat) {
				t.Fatalf("the error is %v with the import %+v, want %v and none", err, im, settingsfile.ErrFormat)
			}
			return
		}
		isProfile := map[string]bool{}
		for _, i := range im.Items {
			switch i.Kind {
			case settingsfile.KindProfile:
				isProfile[i.Model.ID] = true
				if err := i.Model.Check(); err != nil {
					t.Errorf("the profile %+v is not valid: %v", i.Model, err)
				}
			case settingsfile.KindSecret:
				if i.Profile != "" && !isProfile[i.Profile] {
					t.Errorf("the secret %s comes before its profile %s", i.Name, i.Profile)
				}
			case settingsfile.KindMode:
				if err := i.Mode.Check(); err != nil {
					t.Errorf("the mode %+v is not valid: %v", i.Mode, err)
				}
			case settingsfile.KindSetting:
				if !json.Valid(i.Value) {
					t.Errorf("the value of %s is no JSON: %q", i.Name, i.Value)
				}
			}
			if i.Key == "" {
				t.Errorf("the item %+v has no key", i)
			}
		}
	})
}
