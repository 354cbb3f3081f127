"""Words that carry no content of their own."""

from workspaces.judging.wordlists import word_set

ENGLISH_STOPWORDS = word_set(
    """a about above after again against ago all also am an and any are as at away back be because been
before being below between both but by can cannot could did do does doing down during each either else
ever every for from further get gets got had has have having he her here hers herself him himself his how
i if in into is it its itself just let like made make many may me might mine more most much must my myself
neither no nor not now of off ok okay on once one only onto or other our ours ourselves out over own per
please quite rather really same shall she should since so some still such than that the their theirs them
themselves then there these they this those though through to too under until up upon us very via was we
well were what when where which while who whom whose why will with within without would yes yet you your
yours yourself i'm i've i'll i'd we're we've we'll you're you've it's that's there's he's she's they're
don't doesn't didn't isn't aren't wasn't weren't won't can't couldn't shouldn't wouldn't hasn't haven't
s t m re ve ll d currently moment anymore already around thing things stuff kind lot bit"""
)

CHINESE_FUNCTION_WORDS = word_set(
    """的 了 着 过 是 在 和 与 及 或 也 都 就 还 又 很 再 把 被 将 给 对 从 到 由 向 于 以 为 之 其 而 且 但
这 那 此 该 它 我 你 您 他 她 们 咱 我们 你们 他们 她们 自己 一个 一下 一些 有 没有 吗 呢 吧 啊 呀 嘛 哦 嗯 哈
可以 现在 目前 已 已经 一直 然后 所以 因为 如果 虽然 不过 才 更 最 并 让 使"""
)
