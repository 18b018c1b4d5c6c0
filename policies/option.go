package policies

// ReloadOption is something that was done before and could be done again.
type ReloadOption struct {
	CacheID    string  `json:"cacheId"`
	Label      string  `json:"label"`
	Similarity float64 `json:"similarity"`
	Actions    int     `json:"actions"`
	Exact      bool    `json:"exact,omitempty"`
}
