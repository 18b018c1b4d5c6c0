package demo

import "strings"

// pageStyle is the style of the showcase's page. It loads no external resources and follows the
// system's colours.
const pageStyle = `:root{color-scheme:light dark;--ink:light-dark(#1c2430,#e6eaf0);--faint:light-dark(#66707e,#97a1b0);--one:light-dark(#3b6fd6,#7aa5ff);--two:light-dark(#14936f,#45d0a5)}
*{box-sizing:border-box}body{margin:0;height:100vh;color:var(--ink);font:14px/1.4 system-ui,sans-serif}`

// chartPage returns an animated bar chart.
func chartPage(korean bool) string {
	words := strings.NewReplacer("{lang}", "en", "{title}", "Visitors per day", "{days}", "Mon,Tue,Wed,Thu,Fri,Sat,Sun", "{again}", "Shuffle", "{total}", "in this week")
	if korean {
		words = strings.NewReplacer("{lang}", "ko", "{title}", "요일별 방문자", "{days}", "월,화,수,목,금,토,일", "{again}", "다시 섞기", "{total}", "이번 주 방문자")
	}
	return words.Replace(`<!doctype html><html lang="{lang}"><head><meta charset="utf-8"><title>{title}</title><style>` + pageStyle + `
body{display:flex;flex-direction:column;gap:12px;padding:16px}
header{display:flex;justify-content:space-between;align-items:flex-end}
strong{display:block;font-size:24px;font-variant-numeric:tabular-nums;line-height:1.1}small{color:var(--faint)}
button{font:inherit;font-size:13px;padding:4px 12px;min-height:28px;border-radius:6px;border:1px solid var(--faint);background:none;color:inherit;cursor:pointer}
button:focus-visible{outline:2px solid var(--one);outline-offset:2px}
main{flex:1;display:flex;gap:8px;align-items:flex-end;min-height:0}
div{flex:1;height:100%;display:flex;flex-direction:column;justify-content:flex-end;align-items:center;gap:4px;color:var(--faint);font-size:12px}
i{display:block;width:100%;height:50%;border-radius:4px 4px 0 0;background:linear-gradient(var(--one),var(--two));transition:height .8s cubic-bezier(.2,.8,.2,1)}
@media (prefers-reduced-motion:reduce){i{transition:none}}
</style></head><body><header><span><strong id="sum">2,940</strong><small>{total}</small></span><button id="again">{again}</button></header><main id="bars"></main><script>
const days="{days}".split(","),bars=document.getElementById("bars"),sum=document.getElementById("sum");
let values=[420,380,510,460,590,310,270];
const columns=days.map(day=>{const column=document.createElement("div"),fill=document.createElement("i");column.append(fill,day);bars.append(column);return fill});
const draw=()=>{columns.forEach((fill,n)=>{fill.style.height=values[n]/7+"%"});sum.textContent=values.reduce((a,b)=>a+b).toLocaleString("{lang}")};
const walk=by=>{values=values.map(v=>Math.round(Math.min(600,Math.max(120,v+(Math.random()-.5)*by))));draw()};
document.getElementById("again").onclick=()=>walk(500);
requestAnimationFrame(()=>requestAnimationFrame(draw));setInterval(()=>walk(60),2000);
</script></body></html>`)
}
