package settings

import "github.com/everdesk/everdesk/wire"

// Scope is the range in which a value applies.
type Scope = wire.SettingScope

// The scopes, from the widest.
const (
	ScopeHub     = wire.SettingScopeHub
	ScopeUser    = wire.SettingScopeUser
	ScopeSession = wire.SettingScopeSession
)

// Type is the type of the values of a setting.
type Type string

// The types.
const (
	TypeBool   Type = "boolean"
	TypeInt    Type = "integer"
	TypeNumber Type = "number"
	TypeText   Type = "text"
	TypeChoice Type = "choice" // one of a few texts
	TypeList   Type = "list"   // a list of texts
)

// Changer is who may change a setting for themselves. Values of the scope hub are changed by admins
// only.
type Changer string

// Who may change a setting.
const (
	ByUser  Changer = "user"
	ByAdmin Changer = "admin"
)

// Setting declares a setting.
type Setting struct {
	Name string
	// Doc describes the setting in one sentence.
	Doc  string
	Type Type
	// Min and Max bound a number, the characters of a text, or the number of items of a list.
	Min, Max float64
	// MaxBytes bounds the bytes of a text besides its characters; 0 means that Max is enough.
	MaxBytes int
	// Choices are the values of a TypeChoice.
	Choices []string
	// Default is the default as JSON.
	Default string
	// Secret says that the value is a secret: package secrets stores it, and no client can read it.
	Secret bool
	// Scope is the narrowest scope in which the setting may have a value.
	Scope     Scope
	ChangedBy Changer
	// Early says that versions without a catalogue know the setting.
	Early bool
}

// CustomInstructions is the name of the setting with the user's instructions for agents.
const CustomInstructions = "customInstructions"

// Names of secrets.
const (
	SecretAnthropicKey = "anthropicKey" //nolint:gosec // a name
	SecretOpenAIKey    = "openaiKey"
)

// maxItemRunes bounds the characters of an item of a TypeList.
const maxItemRunes = 1000

// Catalogue returns all settings, in the order in which they are shown.
func Catalogue() []Setting {
	return []Setting{
		{
			Name: "language", Type: TypeText, Min: 1, Max: 35, Default: `"en"`, Scope: ScopeUser, ChangedBy: ByUser, Early: true,
			Doc: "The language of the desktop, a BCP 47 tag such as en or ko.",
		},
		{
			Name: "onboardingCompleted", Type: TypeBool, Default: `true`, Scope: ScopeUser, ChangedBy: ByUser, Early: true,
			Doc: "Whether the user has seen the introduction.",
		},
		{
			Name: "userName", Type: TypeText, Max: 100, Default: `""`, Scope: ScopeUser, ChangedBy: ByUser, Early: true,
			Doc: "The name to show for the user.",
		},
		{
			Name: "wallpaper", Type: TypeText, Max: 2000, Default: `""`, Scope: ScopeUser, ChangedBy: ByUser, Early: true,
			Doc: "The name of a wallpaper, a colour or an address.",
		},
		{
			Name: "accentColor", Type: TypeText, Max: 64, Default: `""`, Scope: ScopeUser, ChangedBy: ByUser, Early: true,
			Doc: "The accent colour of the desktop.",
		},
		{
			Name: "iconSize", Type: TypeText, Max: 16, Default: `""`, Scope: ScopeUser, ChangedBy: ByUser, Early: true,
			Doc: "The size of icons, such as small, medium or large.",
		},
		{
			Name: "tourSteps", Type: TypeList, Max: 50, Default: `[]`, Scope: ScopeUser, ChangedBy: ByUser,
			Doc: "The steps of the tour that the user has done, and closed if the user has closed the tour.",
		},
		{
			Name: "pinnedApps", Type: TypeList, Max: 50, Default: `[]`, Scope: ScopeUser, ChangedBy: ByUser,
			Doc: "The apps that the desktop shows beside the command bar.",
		},
		{
			Name: CustomInstructions, Type: TypeText, Max: 16384, MaxBytes: 16384, Default: `""`, Scope: ScopeUser, ChangedBy: ByUser,
			Doc: "Instructions for the agents of all sessions of the user, at most 16 KiB; guests of a session do not get them.",
		},
		{
			Name: SecretAnthropicKey, Type: TypeText, Min: 1, Max: 8192, Default: `null`, Secret: true, Scope: ScopeHub, ChangedBy: ByAdmin,
			Doc: "The key of Anthropic's Messages API; it counts from the next start.",
		},
		{
			Name: SecretOpenAIKey, Type: TypeText, Min: 1, Max: 8192, Default: `null`, Secret: true, Scope: ScopeHub, ChangedBy: ByAdmin,
			Doc: "The key of OpenAI or a compatible server; it counts from the next start.",
		},
	}
}
