// Tells the server which clock this person reads: times are shown in that zone from the next page on.
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
const cookie = `holamem_zone=${zone}`;
if (/^[\w+/-]+$/.test(zone ?? "") && !document.cookie.split("; ").includes(cookie)) {
  const secure = location.protocol === "https:" ? "; secure" : "";
  document.cookie = `${cookie}; path=/; max-age=31536000; samesite=lax${secure}`;
}
