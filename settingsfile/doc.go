// Package settingsfile reads and writes the settings of a user as one file.
//
// # Format
//
// The file is a JSON object:
//
//	{
//	  "format": "everdesk-settings", "version": 1, "exportedAt": "2026-11-17T10:00:00Z",
//	  "settings": {"language": "ko"},
//	  "modelProfiles": [{"id": "opus", "name": "My Opus", "backend": "anthropic", "secret": "mine", …}],
//	  "roles": {"main": "opus"},
//	  "modes": [{"id": "review", "name": "Review", "instructions": "…", "toolProfile": "read", "model": "opus"}],
//	  "autoApproval": {"autoApprovalEnabled": true, "alwaysAllowReadOnly": true},
//	  "secrets": {"names": ["mine"], "sealed": "-----BEGIN AGE ENCRYPTED FILE-----…"}
//	}
//
// Settings holds the values that the user has set, modelProfiles and roles what package profiles stores, modes
// and autoApproval what package modes stores.
// Secrets lists the names of the secrets. With a passphrase their values are in sealed: an object of values
// by name, encrypted with age under the passphrase and armored; `age --decrypt` opens it. Without one sealed is
// absent. A file never has a secret in clear text.
//
// # Import
//
// [Parse] reads this format and the settings file of Roo-Code, and returns what to set, item by item. Each key
// is judged on its own: one that is not known or not valid becomes a [Note] and blocks no other.
//
// The package reads and writes no store; its functions are safe for concurrent use.
package settingsfile
