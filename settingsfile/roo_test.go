package settingsfile_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/everdesk/everdesk/profiles"
	"github.com/everdesk/everdesk/settingsfile"
	"github.com/everdesk/everdesk/wire"
)

// summary returns what an import asks for and notes, one line each.
func summary(im *settingsfile.Import) []string {
	var lines []string
	for _, i := range im.Items {
		line := string(i.Kind) + " "
		switch i.Kind {
		case settingsfile.KindSetting:
			line += i.Name + "=" + string(i.Value)
		case settingsfile.KindSecret:
			line += i.Name + "=" + i.Secret.Reveal()
		case settingsfile.KindProfile:
			m := i.Model
			line += strings.Join([]string{m.ID, m.Name, m.Backend, m.Model, m.BaseURL, m.Secret}, "|")
		case settingsfile.KindRole:
			line += i.Name + "=" + i.Profile
		case settingsfile.KindMode:
			line += strings.Join([]string{i.Mode.ID, i.Mode.Name, i.Mode.Tools, i.Mode.Model}, "|")
		case settingsfile.KindApproval:
			line += fmt.Sprint(len(i.Keys), " rules")
		}
		lines = append(lines, line)
	}
	for _, n := range im.Notes {
		lines = append(lines, string(n.Outcome)+" "+n.Key)
	}
	return lines
}

// rooFile returns a settings file of Roo-Code.
func rooFile(profiles, more string) string {
	return `{"providerProfiles":{` + profiles + `}` + more + `}`
}

// The behaviours of Roo-Code's own import, as far as they make sense here.
func TestRooFile(t *testing.T) {
	t.Parallel()
	const work = `"apiConfigs":{"Work":{"id":"x1","apiProvider":"anthropic","apiKey":"sk-1","apiModelId":"claude-1"}}`
	for name, tt := range map[string]struct {
		file string
		have settingsfile.Have
		want []string
	}{
		"a profile, its key and the current one": {
			file: rooFile(`"currentApiConfigName":"Work",`+work, `,"globalSettings":{}`),
			want: []string{"profile work|Work|anthropic|claude-1||roo-work", "secret roo-work=sk-1", "role main=work"},
		},
		"globalSettings may be missing": {
			file: rooFile(work, ""),
			want: []string{"profile work|Work|anthropic|claude-1||roo-work", "secret roo-work=sk-1"},
		},
		"globalSettings of another type block no profile": {
			file: rooFile(work, `,"globalSettings":7`),
			want: []string{"profile work|Work|anthropic|claude-1||roo-work", "secret roo-work=sk-1", "refused globalSettings"},
		},
		"an unknown provider is refused, the others are taken": {
			file: rooFile(`"apiConfigs":{"a":{"apiProvider":"unknown","apiKey":"k"},"b":{"apiProvider":"openai-native","openAiNativeApiKey":"k2","apiModelId":"m"}}`, ""),
			want: []string{"profile b|b|openai|m||roo-b", "secret roo-b=k2", "refused providerProfiles.apiConfigs.a"},
		},
		"a retired provider is refused": {
			file: rooFile(`"apiConfigs":{"a":{"apiProvider":"groq","groqApiKey":"k"}}`, ""),
			want: []string{"refused providerProfiles.apiConfigs.a"},
		},
		"a profile that is no object is refused": {
			file: rooFile(`"apiConfigs":{"a":"x","b":null,"c":{},"d":{"apiProvider":7}}`, ""),
			want: []string{
				"refused providerProfiles.apiConfigs.a", "refused providerProfiles.apiConfigs.b", "refused providerProfiles.apiConfigs.c",
				"refused providerProfiles.apiConfigs.d",
			},
		},
		"a bad field blocks only itself": {
			file: rooFile(`"apiConfigs":{"a":{"apiProvider":"anthropic","apiKey":7,"apiModelId":"m","reasoningEffort":"huge"}}`, ""),
			want: []string{"profile a|a|anthropic|m||", "refused providerProfiles.apiConfigs.a.reasoningEffort", "refused providerProfiles.apiConfigs.a.apiKey"},
		},
		"fields of other providers and unknown ones are reported": {
			file: rooFile(`"apiConfigs":{"a":{"apiProvider":"anthropic","openRouterApiKey":"k","rateLimitSeconds":5,"diffEnabled":null}}`, ""),
			want: []string{
				"profile a|a|anthropic|||", "refused providerProfiles.apiConfigs.a.openRouterApiKey", "unknown providerProfiles.apiConfigs.a.rateLimitSeconds",
			},
		},
		"the current profile falls back to the first that is taken": {
			file: rooFile(`"currentApiConfigName":"gone","apiConfigs":{"b":{"apiProvider":"anthropic"},"a":{"apiProvider":"anthropic"}}`, ""),
			want: []string{"profile a|a|anthropic|||", "profile b|b|anthropic|||", "role main=a", "refused providerProfiles.currentApiConfigName"},
		},
		"without a profile the current one stays": {
			file: rooFile(`"currentApiConfigName":"a","apiConfigs":{}`, ""),
			want: []string{"refused providerProfiles.currentApiConfigName"},
		},
		"a profile of the same name is replaced": {
			file: rooFile(work, ""),
			have: settingsfile.Have{Profiles: []profiles.Profile{{ID: "mine", Name: "Work"}}},
			want: []string{"profile mine|Work|anthropic|claude-1||roo-mine", "secret roo-mine=sk-1"},
		},
		"ids that are taken or reserved are avoided": {
			file: rooFile(`"apiConfigs":{"Anthropic":{"apiProvider":"anthropic"},"my one!":{"apiProvider":"anthropic"},"my-one":{"apiProvider":"anthropic"},"roles":{"apiProvider":"anthropic"},"한국":{"apiProvider":"anthropic"}}`, ""),
			have: settingsfile.Have{Backends: []string{"anthropic"}, Profiles: []profiles.Profile{{ID: "my-one", Name: "other"}, {ID: "x", Name: "my-one", Pinned: "flag"}}},
			want: []string{
				"profile anthropic-2|Anthropic|anthropic|||", "profile my-one-2|my one!|anthropic|||", "profile my-one-3|my-one|anthropic|||",
				"profile roles-2|roles|anthropic|||", "profile profile|한국|anthropic|||",
			},
		},
		"addresses of other APIs get the path of the one that is used": {
			file: rooFile(`"apiConfigs":{"a":{"apiProvider":"ollama","ollamaBaseUrl":"http://localhost:11434/","ollamaModelId":"q"},"b":{"apiProvider":"openrouter","openRouterModelId":"m"},"c":{"apiProvider":"openai","openAiBaseUrl":"https://x.example/v1/","openAiModelId":"m"}}`, ""),
			want: []string{
				"profile a|a|ollama|q|http://localhost:11434/v1|", "profile b|b|openai-compatible|m|https://openrouter.ai/api/v1|",
				"profile c|c|openai-compatible|m|https://x.example/v1|",
			},
		},
		"an address that is none is refused": {
			file: rooFile(`"apiConfigs":{"a":{"apiProvider":"anthropic","anthropicBaseUrl":"file:///etc/passwd","apiKey":"k"}}`, ""),
			want: []string{"refused providerProfiles.apiConfigs.a"},
		},
		"models of modes and unknown parts are reported": {
			file: rooFile(`"modeApiConfigs":{"code":"x1"},"cloudProfileIds":[],"apiConfigs":{}`, `,"extra":1`),
			want: []string{"unknown extra", "unknown providerProfiles.cloudProfileIds", "refused providerProfiles.modeApiConfigs.code"},
		},
		"modes": {
			file: rooFile(`"modeApiConfigs":{"code":"x1","review":"x1","orchestrator":"x1","ask":"gone","debug":7},`+work, `,"globalSettings":{"customModes":[
				{"slug":"Review","name":"Review","roleDefinition":"You review.","customInstructions":"Be kind.","groups":["read","browser"],"source":"global"},
				{"slug":"docs","name":"Docs","roleDefinition":"You write.","groups":["read",["edit",{"fileRegex":"\\.md$"}]],"whenToUse":"x"},
				{"slug":"ops","name":"Ops","groups":["read","command","zap",{}]},{"slug":"ops","name":"Twice","groups":[]},
				{"slug":"a b","name":"Bad","groups":[]},{"slug":"none","name":"None"},7]}`),
			want: []string{
				"profile work|Work|anthropic|claude-1||roo-work", "secret roo-work=sk-1",
				"mode code|Code|all|work", "mode docs|Docs|show|", "mode ops|Ops|all|", "mode review|Review|read|work",
				"left out globalSettings.customModes[1].groups[1]", "unknown globalSettings.customModes[1].whenToUse",
				"unknown globalSettings.customModes[2].groups[2]", "refused globalSettings.customModes[2].groups[3]",
				"refused globalSettings.customModes[3]", "refused globalSettings.customModes[4]", "refused globalSettings.customModes[5].groups",
				"refused globalSettings.customModes[6]", "refused providerProfiles.modeApiConfigs.ask",
				"refused providerProfiles.modeApiConfigs.debug", "unknown providerProfiles.modeApiConfigs.orchestrator",
				"taken providerProfiles.modeApiConfigs.review",
			},
		},
		"one bad value of globalSettings blocks no other": {
			file: rooFile(`"apiConfigs":{}`, `,"globalSettings":{"language":"ko","autoApprovalEnabled":"yes","alwaysAllowWrite":true,"allowedCommands":["git"],"deniedCommands":[7],"allowedMaxRequests":null,"allowedMaxCost":-1,"writeDelayMs":-1,"openRouterImageApiKey":"sk-i"}`),
			want: []string{
				`setting language="ko"`, "secret roo-openRouterImageApiKey=sk-i", "approval 3 rules", "refused globalSettings.allowedMaxCost",
				"refused globalSettings.autoApprovalEnabled", "refused globalSettings.deniedCommands", "unknown globalSettings.writeDelayMs",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			im, err := settingsfile.Parse([]byte(tt.file), tt.have)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, summary(im)); diff != "" {
				t.Errorf("import (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNoSettingsFile(t *testing.T) {
	t.Parallel()
	for name, file := range map[string]string{
		"nothing": "", "no JSON": "{", "a list": "[]", "null": "null", "another object": `{"a":1}`, "providerProfiles of another type": `{"providerProfiles":[]}`,
		"no apiConfigs": `{"providerProfiles":{}}`, "another format": `{"format":"x","version":1}`, "no version": `{"format":"everdesk-settings"}`,
		"a later version": `{"format":"everdesk-settings","version":2}`, "only globalSettings": `{"globalSettings":{}}`, "too large": strings.Repeat(" ", settingsfile.MaxBytes+1),
	} {
		if _, err := settingsfile.Parse([]byte(file), settingsfile.Have{}); !errors.Is(err, settingsfile.ErrFormat) {
			t.Errorf("%s: the error is %v, want %v", name, err, settingsfile.ErrFormat)
		}
	}
}

// Auto-approval rules have the same names and meaning, so that none may be lost or gained.
func TestRooApprovalRules(t *testing.T) {
	t.Parallel()
	want := wire.AutoApproval{
		AutoApprovalEnabled: true, AlwaysAllowReadOnly: true, AlwaysAllowReadOnlyOutsideWorkspace: true, AlwaysAllowWrite: true,
		AlwaysAllowWriteOutsideWorkspace: true, AlwaysAllowWriteProtected: true, AlwaysAllowExecute: true, AllowedCommands: []string{"git log"},
		DeniedCommands: []string{"rm"}, AlwaysAllowMcp: true, AlwaysAllowModeSwitch: true, AlwaysAllowSubtasks: true,
		AlwaysAllowFollowupQuestions: true, FollowupAutoApproveTimeoutMs: 5000, AllowedMaxRequests: 7, AllowedMaxCost: 1.5,
	}
	global, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	im, err := settingsfile.Parse([]byte(rooFile(`"apiConfigs":{}`, `,"globalSettings":`+string(global))), settingsfile.Have{})
	if err != nil || len(im.Items) != 1 || len(im.Items[0].Keys) != 16 {
		t.Fatalf("the import is %+v, %v; want one item of 16 rules", im, err)
	}
	if diff := cmp.Diff(want, im.Items[0].Approval); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
}

// Context windows and prices that the user has entered are taken; zeros are a default of Roo-Code.
func TestRooModelInfo(t *testing.T) {
	t.Parallel()
	im, err := settingsfile.Parse([]byte(rooFile(`"apiConfigs":{
		"a":{"apiProvider":"openai","openAiModelId":"m","openAiBaseUrl":"https://x.example","reasoningEffort":"high","openAiCustomModelInfo":{"contextWindow":32000,"inputPrice":2,"outputPrice":8,"cacheReadsPrice":0.5}},
		"b":{"apiProvider":"anthropic","reasoningEffort":"high","enableReasoningEffort":false,"openAiCustomModelInfo":{"contextWindow":-1,"inputPrice":0,"outputPrice":0}}}`, "")), settingsfile.Have{})
	if err != nil || len(im.Items) != 2 {
		t.Fatalf("the import is %+v, %v; want two profiles", im, err)
	}
	a, b := im.Items[0].Model, im.Items[1].Model
	if a.ContextWindow != 32000 || a.Effort != "high" || a.Prices == nil || *a.Prices.Input != 2 || *a.Prices.CacheRead != 0.5 || a.Prices.CacheWrite != nil {
		t.Errorf("the first profile is %+v, want a window of 32000, high effort and prices", a)
	}
	if b.ContextWindow != 0 || b.Effort != "" || b.Prices != nil {
		t.Errorf("the second profile is %+v, want no window, effort or prices", b)
	}
}

// Notes and errors never quote a key, whatever is wrong with it.
func TestReportsQuoteNoSecret(t *testing.T) {
	t.Parallel()
	const canary = "sk-canary-4711"
	for _, file := range []string{
		rooFile(`"apiConfigs":{"a":{"apiProvider":"`+canary+`","apiKey":"`+canary+`"}}`, ""),
		rooFile(`"apiConfigs":{"a":{"apiProvider":"anthropic","apiKey":["`+canary+`"],"openRouterApiKey":"`+canary+`","anthropicBaseUrl":"`+canary+`"}}`, ""),
		rooFile(`"apiConfigs":{"a":{"apiProvider":"anthropic","apiKey":{"x":"`+canary+`"}}}`, `,"globalSettings":{"openRouterImageApiKey":{"k":"`+canary+`"},"allowedCommands":"`+canary+`"}`),
		`{"format":"everdesk-settings","version":1,"secrets":"` + canary + `"}`, `{"format":"` + canary + `"}`,
	} {
		im, err := settingsfile.Parse([]byte(file), settingsfile.Have{})
		var notes []settingsfile.Note
		if im != nil {
			notes = im.Notes
		}
		if got := fmt.Sprint(notes, err); strings.Contains(got, canary) {
			t.Errorf("the report of %s is %s, want it without the key", file, got)
		}
		if im != nil && slices.ContainsFunc(im.Items, func(i settingsfile.Item) bool { return strings.Contains(fmt.Sprintf("%+v", i), canary) }) {
			t.Errorf("the items of %s print the key", file)
		}
	}
}
