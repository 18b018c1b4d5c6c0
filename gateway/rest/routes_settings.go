package rest

import (
	"net/http"

	"github.com/everdesk/everdesk/gateway/openapi"
)

var scopeQuery = openapi.Param{Name: "scope", Doc: "user for the caller's values, the default; hub for those of all users."}

func (s *settingHandlers) routes() []openapi.Route {
	const tag = "settings"
	return []openapi.Route{
		{
			Method: http.MethodGet, Path: "/api/settings/catalogue", Guard: openapi.GuardIdentity, Handler: s.getCatalogue, Tag: tag,
			Summary: "The declared settings", Answers: openapi.Success(http.StatusOK, "The settings.", openapi.JSONBody(settingCatalogueForm)),
		},
		{
			Method: http.MethodGet, Path: "/api/settings/values", Guard: openapi.GuardIdentity, Handler: s.getValues, Tag: tag,
			Summary: "The effective values of all settings, and where each comes from", Query: []openapi.Param{scopeQuery},
			Answers: openapi.Success(http.StatusOK, "The values.", openapi.JSONBody(settingValuesForm)),
		},
		{
			Method: http.MethodPatch, Path: "/api/settings/values", Guard: openapi.GuardIdentity, Handler: s.patchValues, Tag: tag,
			Summary: "Change values of settings", Query: []openapi.Param{scopeQuery}, Body: openapi.JSONBody(settingChangesForm),
			Detail: "Each value is checked on its own: those that are refused are listed in refused with a code, and the others take effect. " +
				"The tabs of the user, or of all users for the scope hub, get SETTINGS_CHANGED within a second. The scope hub is for admins.",
			Answers: openapi.Success(http.StatusOK, "The values after the change.", openapi.JSONBody(settingValuesForm)),
		},
	}
}

func (s *secretHandlers) routes() []openapi.Route {
	const tag = "settings"
	return []openapi.Route{
		{
			Method: http.MethodGet, Path: "/api/secrets", Guard: openapi.GuardIdentity, Handler: s.list, Tag: tag,
			Summary: "The secrets that are set or declared, without their values", Query: []openapi.Param{scopeQuery},
			Answers: openapi.Success(http.StatusOK, "The secrets.", openapi.JSONBody(secretListForm)),
		},
		{
			Method: http.MethodPut, Path: "/api/secrets/:name", Guard: openapi.GuardIdentity, Handler: s.put, Tag: tag,
			Summary: "Set a secret", Query: []openapi.Param{scopeQuery}, Body: openapi.JSONBody(newSecretForm),
			Detail: "It is stored encrypted and no request returns it. 409 when the hub has no key to encrypt with; the detail says what to do. " +
				"The tabs get SETTINGS_CHANGED. The scope hub is for admins.",
			Answers: openapi.NoContent("Stored."),
		},
		{
			Method: http.MethodDelete, Path: "/api/secrets/:name", Guard: openapi.GuardIdentity, Handler: s.delete, Tag: tag,
			Summary: "Delete a secret", Query: []openapi.Param{scopeQuery}, Answers: openapi.NoContent("Deleted, or it was not set."),
		},
		{
			Method: http.MethodPost, Path: "/api/secrets/rotate", Guard: openapi.GuardAdmin, Handler: s.rotate, Tag: tag,
			Summary: "Encrypt all secrets with the newest key", Detail: "With a file store the hub makes a new key first and deletes the old one at the end.",
			Answers: openapi.Success(http.StatusOK, "What was done.", openapi.JSONBody(rotationForm)),
		},
	}
}
