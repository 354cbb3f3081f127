"""Words that carry no content, for the lexical index and for questions."""

# Function words of English, question words and contractions among them.
_ENGLISH = (
    "a an the is are was were be been being am do does did doing done has have had having "
    "i you he she it we they me him her us them my your his its our their mine yours ours theirs "
    "this that these those there here of in on at to for from with by about as into onto upon "
    "and or but nor not no so if then than too very also just "
    "can could will would shall should may might must "
    "which who whom whose what when where why how "
    "don't doesn't didn't isn't aren't wasn't weren't won't wouldn't can't couldn't shouldn't "
    "hasn't haven't hadn't i'm i've i'd i'll you're you've you'd you'll he's she's it's we're "
    "we've we'd we'll they're they've they'd they'll that's there's what's who's let's "
    "s t d ll m re ve e.g i.e"
)
ENGLISH_STOP_WORDS = frozenset(_ENGLISH.split())

# What a question adds beyond the stop words: dropped from queries only, since in stored text
# these may be content ("how many" asks, "many users" tells).
ENGLISH_QUESTION_WORDS = ("many", "much", "often", "please", "tell")

# Longest first where one contains another. Each is cut out of the Han run before bigrams are
# taken, so that no bigram spans the gap ("是什么" would leave "么时" and the like).
CHINESE_QUESTION_WORDS = (
    "是不是", "有没有", "能不能", "会不会", "要不要", "可不可以", "是否", "什么时候", "什么时间",
    "什么地方", "为什么", "是什么", "有什么", "什么样", "什么", "怎么样", "怎么办", "怎么", "怎样",
    "如何", "为何", "何时", "何地", "哪里", "哪儿", "哪些", "哪个", "哪位", "哪一个", "哪天", "哪年",
    "哪家", "哪种", "在哪里", "在哪儿", "在哪", "哪", "是谁", "谁的", "谁", "多少", "多久", "多长时间", "多大", "几个",
    "几点", "几号", "几次", "几岁", "几天", "几月", "请问", "请告诉我", "告诉我", "你知道",
    "你还记得", "还记得", "记得", "吗", "呢",
)  # fmt: skip

# A Han run of one such character between other scripts ("API的URL") says nothing.
CHINESE_FUNCTION_CHARACTERS = frozenset(
    "的了吗呢吧啊嘛呀是在和与或也就都而及着过把被给让向从到对于我你他她它们这那"
)
