package arch_test

// rule lists what a package may import of this module.
type rule struct {
	uses  string // separated by spaces; * is everything
	tests string // additional imports of its tests
}

// rules lists all packages of the module, roughly from the lowest layer up, and their
// allowed imports. docs/ARCHITECTURE.md describes each.
var rules = map[string]rule{
	"wire": {},

	"store":                 {uses: "wire"},
	"store/storetest":       {uses: "store wire"},
	"store/redisstore":      {uses: "store wire", tests: "store/storetest internal/redistest"},
	"store/filestore":       {uses: "store wire store/filestore/kvlog", tests: "store/storetest"},
	"store/filestore/kvlog": {},

	"notices":      {uses: "store", tests: "store/filestore"},
	"secrets":      {uses: "store", tests: "store/filestore"},
	"settings":     {uses: "notices store wire", tests: "store/filestore"},
	"settingsfile": {uses: "modes profiles secrets wire"},
	"profiles":     {uses: "store", tests: "store/filestore"},
	"modes":        {uses: "store wire", tests: "store/filestore"},
	"workspaces":   {uses: "skills store wire", tests: "store/filestore"},

	"profiles/backends": {uses: "profiles providers"},

	"desktop":  {uses: "wire internal/truncation"},
	"policies": {uses: "wire internal/truncation"},

	"providers":              {},
	"providers/providertest": {uses: "providers", tests: "providers/demo"},
	"providers/demo":         {uses: "providers internal/truncation", tests: "providers/providertest"},
	"providers/loop":         {uses: "providers", tests: "providers/providertest"},
	"providers/sse":          {uses: "providers", tests: "providers/fakemodel"},
	"providers/outbound":     {uses: "providers"},
	"providers/prices":       {uses: "providers"},
	"skills":                 {},
	"runjs":                  {uses: "internal/worker"},
	"pdf":                    {uses: "internal/worker"},
	"mcpclient":              {uses: "internal/truncation providers/jsonline providers/outbound secrets store", tests: "mcpclient/mcptest store/filestore"},
	"mcpclient/mcptest":      {},
	"notebookfile":           {uses: "wire"},
	"kernels":                {uses: "providers/jsonline wire"},
	"fetch":                  {uses: "providers/outbound store", tests: "store/filestore"},
	"browser":                {uses: "fetch providers/outbound wire"},
	"providers/probe":        {uses: "providers providers/anthropic providers/openai providers/sse internal/truncation", tests: "providers/demo providers/fakemodel providers/outbound"},
	"providers/anthropic":    {uses: "providers providers/loop providers/prices providers/sse", tests: "providers/fakemodel providers/providertest"},
	"providers/openai":       {uses: "providers providers/loop providers/prices providers/sse", tests: "providers/fakemodel providers/providertest"},
	"providers/fakemodel":    {},
	"providers/jsonline":     {},
	"providers/jsonrpc":      {},
	"providers/agent":        {uses: "providers"},
	"providers/claude":       {uses: "providers providers/agent providers/jsonline", tests: "providers/agent/agenttest providers/claude/claudetest providers/fakemodel providers/providertest"},
	"providers/codex":        {uses: "providers providers/agent providers/jsonline providers/jsonrpc", tests: "mcpclient/mcptest providers/agent/agenttest providers/codex/codextest providers/fakemodel providers/providertest"},
	"providers/acp":          {uses: "internal/truncation providers providers/agent providers/jsonline providers/jsonrpc", tests: "approval providers/acp/acptest providers/agent/agenttest providers/fakemodel providers/providertest tools tools/mcpserver wire"},

	"providers/acp/acptest":       {uses: "providers/agent/agenttest"},
	"providers/claude/claudetest": {uses: "providers/agent/agenttest"},
	"providers/codex/codextest":   {uses: "providers/agent/agenttest"},
	"providers/agent/agenttest":   {uses: "providers providers/providertest"},

	"providers/fakemodel/serve": {uses: "providers/fakemodel"},

	"history":  {uses: "policies providers store wire internal/truncation"},
	"approval": {uses: "wire"},

	"tools":           {uses: "apps apps/build browser desktop fetch files kernels mcpclient modes notebookfile pdf policies providers runjs settings skills store wire workspaces", tests: "providers/outbound store/filestore"},
	"tools/mcpserver": {uses: "providers tools wire", tests: "desktop files store/filestore"},
	"agentpool":       {uses: "files modes profiles providers store tools wire", tests: "contextpool providers/demo store/filestore store/redisstore internal/redistest"},
	"workflow":        {uses: "policies providers store wire internal/truncation", tests: "desktop"},
	"contextpool":     {uses: "agentpool approval desktop history modes policies profiles providers store tools wire workflow internal/truncation", tests: "store/filestore"},

	"broadcast":            {uses: "store wire internal/truncation", tests: "desktop"},
	"session":              {uses: "agentpool approval broadcast checkpoints contextpool desktop files history kernels modes pictures policies providers sessionfile store tools wire workflow internal/truncation", tests: "mcpclient profiles providers/anthropic providers/demo providers/fakemodel providers/openai store/filestore store/redisstore internal/redistest"},
	"auth":                 {uses: "notices store wire", tests: "store/filestore"},
	"ratelimit":            {uses: "store wire", tests: "store/filestore"},
	"files":                {uses: "wire", tests: "files/filestest"},
	"checkpoints":          {},
	"files/filestest":      {uses: "files wire"},
	"files/s3files":        {uses: "files wire", tests: "files/filestest files/s3files/s3test"},
	"files/s3files/s3test": {},
	"apps":                 {uses: "files wire", tests: "files/s3files files/s3files/s3test"},
	"apps/build":           {uses: "internal/worker"},
	"pictures":             {},
	"audit":                {uses: "store", tests: "internal/redistest store/filestore store/redisstore"},
	"membership":           {uses: "store wire", tests: "internal/redistest store/filestore store/redisstore"},
	"rootask":              {uses: "history providers sessionfile wire internal/truncation", tests: "providers"},
	"sessionfile":          {uses: "history providers wire internal/truncation"},
	"client":               {uses: "desktop wire", tests: "auth broadcast gateway ratelimit files session store store/filestore"},

	"metrics":   {uses: "adminview wire", tests: "*"},
	"tracing":   {uses: "agentpool broadcast providers session wire", tests: "*"},
	"adminview": {uses: "broadcast membership session store wire internal/truncation", tests: "internal/redistest store/filestore store/redisstore"},

	"web": {},

	"agui":          {uses: "desktop wire internal/turntext", tests: "agui/aguitest"},
	"agui/aguitest": {},
	"rooipc":        {uses: "desktop wire", tests: "rooipc/rooipctest"},

	"rooipc/rooipctest": {uses: "rooipc"},

	"gateway/problem": {uses: "apps auth checkpoints files notebookfile session store wire workspaces"},
	"gateway/openapi": {uses: "gateway/problem wire"},
	"gateway/httpio":  {uses: "gateway/openapi gateway/problem wire"},
	"gateway/access":  {uses: "auth files gateway/openapi gateway/problem ratelimit session store wire"},
	"gateway/stream":  {uses: "auth gateway/access gateway/problem wire"},
	"gateway/agui":    {uses: "agui auth gateway/access gateway/admin gateway/httpio gateway/openapi gateway/problem gateway/stream session store wire"},
	"gateway/rooipc":  {uses: "auth gateway/access gateway/problem modes pictures profiles ratelimit rooipc session store wire"},
	"gateway/admin":   {uses: "adminview audit auth gateway/access gateway/httpio gateway/openapi gateway/problem gateway/stream membership session store wire"},
	"gateway/rest":    {uses: "approval apps apps/build auth checkpoints desktop fetch files gateway/access gateway/admin gateway/httpio gateway/openapi gateway/problem internal/truncation history mcpclient modes notebookfile pictures profiles ratelimit secrets session sessionfile settings store web wire workspaces"},
	"gateway/ws":      {uses: "auth broadcast gateway/access gateway/httpio gateway/openapi gateway/problem pictures ratelimit session settings store wire", tests: "store/filestore"},

	"gateway": {uses: "apps audit auth files gateway/access gateway/admin gateway/agui gateway/httpio gateway/openapi gateway/problem gateway/rest gateway/rooipc gateway/ws mcpclient membership modes pictures profiles ratelimit secrets session settings store web wire workspaces", tests: "adminview agentpool apps/build checkpoints agui/aguitest rooipc rooipc/rooipctest broadcast client desktop history sessionfile providers providers/demo providers/outbound fetch mcpclient/mcptest tools store/filestore store/redisstore internal/redistest"},

	"cmd/hub":                      {uses: "*", tests: "internal/redistest"},
	"cmd/hub/internal/command":     {},
	"cmd/hub/internal/terminal":    {uses: "internal/truncation"},
	"cmd/hub/internal/remote":      {uses: "wire cmd/hub/internal/command cmd/hub/internal/terminal"},
	"cmd/hub/internal/attach":      {uses: "client contextpool providers/demo wire cmd/hub/internal/command cmd/hub/internal/remote cmd/hub/internal/terminal"},
	"cmd/hub/internal/bridge":      {uses: "wire cmd/hub/internal/command cmd/hub/internal/remote"},
	"cmd/hub/internal/acp":         {uses: "client providers/jsonrpc wire internal/turntext cmd/hub/internal/command cmd/hub/internal/remote", tests: "desktop"},
	"cmd/hub/internal/cells":       {uses: "client notebookfile wire cmd/hub/internal/command cmd/hub/internal/remote cmd/hub/internal/terminal"},
	"cmd/hub/internal/admin":       {uses: "adminview audit client membership wire cmd/hub/internal/command cmd/hub/internal/remote cmd/hub/internal/terminal"},
	"cmd/hub/internal/token":       {uses: "auth store store/filestore/kvlog wire cmd/hub/internal/command cmd/hub/internal/remote cmd/hub/internal/terminal", tests: "store/filestore"},
	"cmd/hub/internal/preferences": {uses: "client modes profiles secrets settings settingsfile wire cmd/hub/internal/command cmd/hub/internal/remote cmd/hub/internal/terminal"},
	"cmd/hub/internal/export":      {uses: "rootask sessionfile wire cmd/hub/internal/command cmd/hub/internal/remote cmd/hub/internal/terminal"},
	"cmd/hub/internal/states":      {uses: "wire cmd/hub/internal/command cmd/hub/internal/remote cmd/hub/internal/terminal"},
	"cmd/hub/internal/supervise":   {uses: "cmd/hub/internal/command"},
	"cmd/hub/internal/health":      {uses: "cmd/hub/internal/command cmd/hub/internal/remote"},

	"internal/truncation": {},
	"internal/turntext":   {},
	"internal/worker":     {},

	"internal/arch":    {},
	"internal/docgen":  {},
	"internal/hubtest": {uses: "client desktop wire", tests: "internal/redistest"},
	"internal/chaos":   {tests: "*"},

	"internal/hubtest/replay": {uses: "internal/hubtest", tests: "wire"},

	"internal/redistest": {},
	"internal/wiregen":   {uses: "settings wire"},
}

// modules lists where third-party modules may be imported. A module that is not listed may
// not be imported at all.
var modules = map[string]rule{
	"github.com/labstack/echo/v4":            {uses: "gateway gateway/access gateway/admin gateway/agui gateway/httpio gateway/openapi gateway/problem gateway/rest gateway/stream gateway/ws cmd/hub"},
	"github.com/redis/go-redis/v9":           {uses: "store/redisstore internal/redistest cmd/hub", tests: "internal/chaos"},
	"github.com/coder/websocket":             {uses: "gateway/ws client kernels", tests: "gateway cmd/hub"},
	"github.com/google/jsonschema-go":        {uses: "wire internal/wiregen tools", tests: "gateway"},
	"github.com/chromedp/chromedp":           {uses: "browser"},
	"github.com/minio/minio-go/v7":           {uses: "files/s3files"},
	"github.com/chromedp/cdproto":            {uses: "browser"},
	"github.com/dop251/goja":                 {uses: "runjs"},
	"github.com/evanw/esbuild":               {uses: "apps/build"},
	"golang.org/x/net":                       {uses: "apps/build fetch"},
	"golang.org/x/text":                      {tests: "fetch"},
	"go.yaml.in/yaml/v3":                     {uses: "cmd/hub skills"},
	"filippo.io/age":                         {uses: "settingsfile"},
	"github.com/google/go-cmp":               {uses: "store/storetest files/filestest", tests: "*"},
	"github.com/rogpeppe/go-internal":        {tests: "cmd/hub"},
	"github.com/anishathalye/porcupine":      {tests: "internal/chaos"},
	"go.uber.org/goleak":                     {tests: "*"},
	"pgregory.net/rapid":                     {uses: "store/storetest", tests: "*"},
	"golang.org/x/image":                     {uses: "pictures"},
	"golang.org/x/time":                      {uses: "agentpool ratelimit session"},
	"github.com/modelcontextprotocol/go-sdk": {uses: "mcpclient mcpclient/mcptest tools/mcpserver", tests: "cmd/hub"},
	"github.com/golang-jwt/jwt/v5":           {uses: "auth cmd/hub", tests: "gateway"},
	"github.com/coreos/go-oidc/v3":           {uses: "auth"},
	"github.com/prometheus/client_golang":    {uses: "metrics", tests: "cmd/hub"},
	"go.opentelemetry.io/otel":               {uses: "tracing", tests: "*"},
	"golang.org/x/sys":                       {uses: "store/filestore store/filestore/kvlog broadcast gateway/rooipc gateway/ws providers/jsonline internal/worker cmd/hub/internal/terminal", tests: "cmd/hub files internal/chaos"},
}
