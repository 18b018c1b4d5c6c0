package apps

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// shipped has the apps of every hub, one folder each.
//
//go:embed all:market
var shipped embed.FS

// MaxOffers bounds the apps of a market.
const MaxOffers = 200

// Offer is an app in the market.
type Offer struct {
	ID string
	Manifest
	// HasSkill says that the app has a text for agents.
	HasSkill bool
}

// Market offers apps that users can install: those of the hub and those in a folder of the
// operator, which replace those of the hub with the same id.
type Market struct {
	folders []fs.FS // the first that has an app offers it
}

// NewMarket returns the market with the apps of the hub and of a folder; "" means no folder.
func NewMarket(folder string) (*Market, error) {
	own, err := fs.Sub(shipped, "market")
	if err != nil {
		return nil, fmt.Errorf("apps of the hub: %w", err)
	}
	m := &Market{folders: []fs.FS{own}}
	if folder == "" {
		return m, nil
	}
	info, err := os.Stat(folder)
	if err != nil {
		return nil, fmt.Errorf("apps folder: %w", err)
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("apps folder: %s is not a folder", folder)
	}
	m.folders = slices.Insert(m.folders, 0, os.DirFS(folder))
	return m, nil
}

// List returns the apps, in the order of their ids. An app that cannot be used does not keep the
// others from being listed: the error names it.
func (m *Market) List() ([]Offer, error) {
	var all []Offer
	var wrong []error
	for _, folder := range m.folders {
		entries, err := fs.ReadDir(folder, ".")
		if err != nil {
			wrong = append(wrong, fmt.Errorf("list apps: %w", err))
			continue
		}
		for _, e := range entries {
			id := e.Name()
			if !e.IsDir() || CheckID(id) != nil || len(all) >= MaxOffers || slices.ContainsFunc(all, func(o Offer) bool { return o.ID == id }) {
				continue
			}
			o, err := offer(folder, id)
			switch {
			case errors.Is(err, fs.ErrNotExist): // not an app
			case err != nil:
				wrong = append(wrong, fmt.Errorf("app %s: %w", id, err))
			default:
				all = append(all, o)
			}
		}
	}
	slices.SortFunc(all, func(a, b Offer) int { return strings.Compare(a.ID, b.ID) })
	return all, errors.Join(wrong...)
}

// offer reads what the market shows of an app.
func offer(folder fs.FS, id string) (Offer, error) {
	data, err := readNamed(folder, id+"/"+ManifestFile, maxManifest)
	if err != nil {
		return Offer{}, err
	}
	m, err := ParseManifest(data)
	_, noSkill := fs.Stat(folder, id+"/"+SkillFile)
	return Offer{ID: id, Manifest: m, HasSkill: noSkill == nil}, err
}

// addShared replaces the lines in the page of an app that name the parts which the apps of a folder share: their style,
// and functions for texts, data and commands. An installed app is whole without them.
func addShared(folder fs.FS, b Bundle) error {
	for _, name := range []string{"shared.css", "shared.js"} {
		line := []byte("/* " + name + " */\n")
		if !bytes.Contains(b.Page(), line) {
			continue
		}
		part, err := readNamed(folder, name, MaxBytes)
		if err != nil {
			return err
		}
		b.Files[PageFile] = bytes.Replace(b.Page(), line, part, 1)
	}
	return nil
}

// Get returns an app. It is [ErrNotFound] if there is none with that id.
func (m *Market) Get(id string) (Bundle, error) {
	if err := CheckID(id); err != nil {
		return Bundle{}, err
	}
	for _, folder := range m.folders {
		if _, err := fs.Stat(folder, id+"/"+ManifestFile); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		sub, err := fs.Sub(folder, id)
		if err != nil {
			return Bundle{}, fmt.Errorf("app %s: %w", id, err)
		}
		b, err := ReadFolder(sub)
		if err == nil {
			err = addShared(folder, b)
		}
		if err != nil {
			return Bundle{}, fmt.Errorf("app %s: %w", id, err)
		}
		return b, nil
	}
	return Bundle{}, fmt.Errorf("%w: the market has no app %q", ErrNotFound, id)
}
