"""Keys that a service marks by a prefix or a fixed shape of its own.

A row is a literal that every such key holds, which most texts lack and are done with, and the
pattern. Lengths are a little under what the services issue, so that an older form counts too.
"""

# fmt: off
PROVIDER_FORMATS: tuple[tuple[str, str, str], ...] = (
    # Models and search.
    ("groq_key", "gsk_", r"gsk_[A-Za-z0-9]{32,}"),
    ("xai_key", "xai-", r"xai-[A-Za-z0-9]{40,}"),
    ("perplexity_key", "pplx-", r"pplx-[A-Za-z0-9]{32,}"),
    ("replicate_token", "r8_", r"r8_[A-Za-z0-9]{30,}"),
    ("zhipu_key", ".", r"[0-9a-f]{32}\.[A-Za-z0-9]{16}(?![A-Za-z0-9])"),
    ("openai_key", "sess-", r"sess-[A-Za-z0-9]{40}"),
    ("elevenlabs_key", "sk_", r"sk_[0-9a-f]{40,}"),
    ("pinecone_key", "pcsk_", r"pcsk_[A-Za-z0-9_]{40,}"),
    ("tavily_key", "tvly-", r"tvly-[A-Za-z0-9-]{20,}"),
    ("jina_key", "jina_", r"jina_[A-Za-z0-9_-]{40,}"),
    ("fireworks_key", "fw_", r"fw_(?=[A-Za-z]*\d)[A-Za-z0-9]{22,}"),
    # Clouds, hosting and databases.
    ("alibaba_key", "LTAI", r"LTAI(?=[A-Za-z]*\d)[A-Za-z0-9]{12,26}(?![A-Za-z0-9])"),
    ("tencent_key", "AKID", r"AKID(?=[A-Za-z]*\d)[A-Za-z0-9]{28,}"),
    ("volcengine_key", "AKLT", r"AKLT(?=[A-Za-z]*\d)[A-Za-z0-9]{28,}"),
    ("baidu_key", "ALTAK-", r"bce-v3/ALTAK-[A-Za-z0-9]{16,}/[0-9a-f]{32,}"),
    ("baidu_key", "ALTAK-", r"ALTAK-[A-Za-z0-9]{16,}"),
    ("digitalocean_token", "_v1_", r"do[por]_v1_[0-9a-f]{60,}"),
    ("heroku_key", "HRKU-", r"HRKU-[A-Za-z0-9_-]{30,}"),
    ("fly_token", "fo1_", r"fo1_[A-Za-z0-9_-]{30,}"),
    ("supabase_key", "sb", r"(?:sbp_[0-9a-f]{40}|sb_secret_[A-Za-z0-9_-]{20,})"),
    ("planetscale_token", "pscale_", r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.-]{30,}"),
    ("neon_key", "napi_", r"napi_[a-z0-9]{40,}"),
    ("databricks_token", "dapi", r"dapi[0-9a-f]{32}(?:-\d)?"),
    ("vault_token", "hv", r"hv[sbr]\.[A-Za-z0-9_-]{24,}"),
    ("terraform_token", ".atlasv1.", r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_-]{60,}"),
    ("tailscale_key", "tskey-", r"tskey-[a-z]{2,12}-[A-Za-z0-9]{8,}-[A-Za-z0-9]{16,}"),
    ("docker_token", "dckr_", r"dckr_(?:pat|oat)_[A-Za-z0-9_-]{20,}"),
    ("azure_signature", "sig=", r"sv=[\w.%:&=-]{1,300}&sig=(?P<secret>[A-Za-z0-9%+/]{20,}=*)"),
    # Code, packages and operations.
    ("bitbucket_token", "ATBB", r"ATBB[A-Za-z0-9]{28,}"),
    ("atlassian_token", "T3", r"AT[AC]TT3[A-Za-z0-9_=-]{60,}"),
    ("rubygems_key", "rubygems_", r"rubygems_[0-9a-f]{48}"),
    ("grafana_token", "gl", r"(?:glsa_[A-Za-z0-9]{32}_[0-9a-f]{8}|glc_[A-Za-z0-9+/=]{40,})"),
    ("newrelic_key", "NRAK-", r"NRAK-[A-Z0-9]{27}"),
    ("sentry_token", "sntry", r"sntry[su]_[A-Za-z0-9_=+/-]{40,}"),
    ("dynatrace_token", "dt0", r"dt0[a-z]\d{2}\.[A-Z0-9]{24}\.[A-Z0-9]{40,}"),
    ("doppler_token", "dp.", r"dp\.(?:pt|st|ct|sa)\.[A-Za-z0-9._-]{36,}"),
    ("postman_key", "PMAK-", r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}"),
    ("onepassword_token", "ops_eyJ", r"ops_eyJ[A-Za-z0-9_-]{60,}"),
    ("age_key", "AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[A-Z0-9]{50,}"),
    # Work, mail, chat and commerce.
    ("linear_key", "lin_", r"lin_(?:api|oauth)_[A-Za-z0-9]{30,}"),
    ("notion_token", "ntn_", r"ntn_[A-Za-z0-9]{40,}"),
    ("notion_token", "secret_", r"secret_(?=[A-Za-z]*\d)[A-Za-z0-9]{40,}"),
    ("figma_token", "fig", r"fig[dor]_[A-Za-z0-9_-]{30,}"),
    ("airtable_token", "pat", r"pat[A-Za-z0-9]{14}\.[0-9a-f]{64}"),
    ("contentful_token", "CFPAT-", r"CFPAT-[A-Za-z0-9_-]{40,}"),
    ("shopify_token", "shp", r"shp(?:at|ca|pa|ss)_[A-Za-z0-9]{32}"),
    ("square_token", "sq0", r"sq0(?:atp|csp|idp)-[A-Za-z0-9_-]{22,}"),
    ("facebook_token", "EAA", r"EAA(?=[A-Za-z]*\d)[A-Za-z0-9]{80,}"),
    ("twilio_key", "SK", r"SK[0-9a-f]{32}(?![A-Za-z0-9])"),
    ("mailgun_key", "key-", r"key-[0-9a-f]{32}(?![A-Za-z0-9])"),
    ("mailchimp_key", "-us", r"[0-9a-f]{32}-us\d{1,2}(?![A-Za-z0-9_])"),
    ("resend_key", "re_", r"re_[A-Za-z0-9]{8}_[A-Za-z0-9]{20,}"),
    ("telegram_token", ":AA", r"\d{8,10}:AA[A-Za-z0-9_-]{32,}"),
    ("firebase_key", ":APA91", r"[A-Za-z0-9_-]{8,20}:APA91[A-Za-z0-9_-]{60,}"),
    ("discord_token", ".",
     r"[MNO](?=[A-Za-z]*\d)[A-Za-z0-9_-]{22,28}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}"),
    # Addresses whose path is the key.
    ("webhook", "discord", r"discord(?:app)?\.com/api/webhooks/(?P<secret>\d{10,}/[A-Za-z0-9_-]{40,})"),
    ("webhook", "webhookb2/", r"webhook\.office\.com/webhookb2/(?P<secret>[A-Za-z0-9@/-]{40,})"),
    ("webhook", "qyapi.weixin",
     r"qyapi\.weixin\.qq\.com/cgi-bin/webhook/send\?key=(?P<secret>[0-9a-f-]{30,})"),
    ("webhook", "/hook/", r"open\.(?:feishu\.cn|larksuite\.com)/open-apis/bot/v2/hook/(?P<secret>[0-9A-Za-z-]{30,})"),
)
# fmt: on
